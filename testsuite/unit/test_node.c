/*
 * test_node.c - domains and nodes from a program's side.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nodes.h"

/* Global memory: written on all of P or on none; the event follows the data. */
START_TEST(test_segment)
{
	struct storm_target to = { .kind = STORM_TARGET_SEGMENT,
				   .segment = 3,
				   .offset = 100,
				   .remote_event = 7 };
	struct storm_idset P = some(1, 3);
	struct storm_outcome out;

	nodes_open();
	must(transfer(&P, &to, "hello", 5, NULL) == STORM_DONE);
	for (uint32_t i = 1; i <= 3; i++) {
		must(!storm_member_test_event(member[i], 7, true, PATIENCE));
		must(!memcmp(memory[i] + 100, "hello", 5));
		must(heard[i].count == 1 && heard[i].event == 7 &&
		     heard[i].at == memory[i] + 100 && heard[i].len == 5);
		ck_assert_int_eq(storm_member_test_event(member[i], 7, false,
							 0),
				 STORM_ETIME);
	}
	must(!memory[0][100] && !memory[4][100]);
	ck_assert_int_eq(storm_member_test_event(member[0], 7, false, 0),
			 STORM_ETIME);
	/* one of them has not the room */
	must(!storm_node_segment(host[2], 3, memory[2], 102));
	must(transfer(&P, &to, "other", 5, &out) == STORM_ABORTED);
	must(out.nfaults == 1 && out.faults[0].node == 2 &&
	     out.faults[0].why == STORM_ETOOBIG);
	storm_outcome_clear(&out);
	must(!storm_node_segment(host[2], 3, NULL, 0));
	must(transfer(&P, &to, "other", 5, &out) == STORM_ABORTED);
	must(out.nfaults == 1 && out.faults[0].why == STORM_ENOENT);
	storm_outcome_clear(&out);
	for (uint32_t i = 1; i <= 3; i++)
		must(!memcmp(memory[i] + 100, "hello", 5));
	ck_assert_int_eq(storm_node_segment(host[0], STORM_SEGMENTS, memory, 1),
			 STORM_EINVAL);
	storm_idset_clear(&P);
}
END_TEST

/* A message comes with the call, and its event is counted after that. */
START_TEST(test_message)
{
	struct storm_target to = { .kind = STORM_TARGET_MEMORY };

	nodes_open();
	for (to.remote_event = 0; to.remote_event < 3; to.remote_event++)
		must(transfer(NULL, &to, "to you", 7, NULL) == STORM_DONE);
	to.remote_event = 1000000;
	must(transfer(NULL, &to, "no number", 10, NULL) == STORM_DONE);
	to.remote_event = 2;
	must(transfer(NULL, &to, "again", 6, NULL) == STORM_DONE);
	for (uint32_t i = 0; i < NODES; i++) {
		must(!storm_member_test_event(member[i], 2, true, PATIENCE));
		must(!storm_member_test_event(member[i], 2, true, PATIENCE));
		must(heard[i].count == 5);
		ck_assert_str_eq(heard[i].text, "again");
		must(!storm_member_test_event(member[i], 1, false, 0));
		ck_assert_int_eq(storm_member_test_event(member[i], 1, false,
							 0),
				 STORM_ETIME);
		ck_assert_int_eq(storm_member_test_event(member[i], 0, false,
							 0),
				 STORM_EINVAL);
		ck_assert_int_eq(storm_member_test_event(
					 member[i], STORM_EVENTS, false, 0),
				 STORM_EINVAL);
	}
}
END_TEST

static void holds(uint32_t i, const char *name, const void *data, size_t len)
{
	char path[128], *got = malloc(len + 1);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%s", dir, names[i], name);
	f = fopen(path, "r");
	must(f && got);
	must(fread(got, 1, len + 1, f) == len && !memcmp(got, data, len));
	fclose(f);
	free(got);
}

static void at(uint32_t i, const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s/%s", dir, names[i], name);
}

/* Below the root, on all nodes; the event comes with the file. */
START_TEST(test_file)
{
	struct storm_target to = { .kind = STORM_TARGET_FILE,
				   .path = "/sub/f",
				   .mode = 0640,
				   .remote_event = 9 };
	size_t len = 3000000;
	struct rnd r = rnd_of(1);
	uint8_t *data = malloc(len);
	char path[128];

	must(data);
	rnd_fill(&r, data, len);
	for (uint32_t i = 0; i < NODES; i++) {
		at(i, "sub", path);
		must(!mkdir(path, 0700));
	}
	nodes_open();
	must(transfer(NULL, &to, data, len, NULL) == STORM_DONE);
	for (uint32_t i = 0; i < NODES; i++) {
		must(!storm_member_test_event(member[i], 9, true, PATIENCE));
		holds(i, "sub/f", data, len);
	}
	to.path = "/empty";
	must(transfer(NULL, &to, NULL, 0, NULL) == STORM_DONE);
	holds(4, "empty", "", 0);
	free(data);
}
END_TEST

static struct {
	const char *path;
	enum storm_err why;
} bad[] = {
	{ "relative", STORM_EPATH }, { "/link/f", STORM_EPATH },
	{ "/../f", STORM_EPATH },    { "/to-link", STORM_EEXIST },
	{ "/none/f", STORM_ESYS },   { "/", STORM_EPATH },
};

/* Nothing leads out of the root, and one that cannot stops all. */
START_TEST(test_bad_file)
{
	struct storm_target to = { .kind = STORM_TARGET_FILE,
				   .path = bad[_i].path,
				   .mode = 0600 };
	struct storm_outcome out;
	char path[128], cmd[256];

	at(1, "link", path);
	must(!symlink("/tmp", path));
	at(1, "to-link", path);
	must(!symlink("/etc/passwd", path));
	for (uint32_t i = 0; i < NODES; i++) {
		at(i, "link", path);
		must(i == 1 || !mkdir(path, 0700));
	}
	nodes_open();
	must(transfer(NULL, &to, "x", 1, &out) == STORM_ABORTED);
	must(out.nfaults && out.faults[0].why == bad[_i].why);
	if (strstr(to.path, "link"))
		must(out.nfaults == 1 && out.faults[0].node == 1);
	else
		must(out.nfaults == NODES);
	storm_outcome_clear(&out);
	/* no node shows anything */
	snprintf(cmd, sizeof(cmd), "test -z \"$(find %s -type f)\"", dir);
	must(!system(cmd));
}
END_TEST

/* Own variables by their nodes, global ones by the owner, and both compared. */
START_TEST(test_variables)
{
	struct storm_assign w = { STORM_GLOBAL(5), 77 };
	struct storm_idset P = some(0, 2);
	uint64_t v;

	nodes_open();
	for (uint32_t i = 0; i < 3; i++)
		must(!storm_member_own_set(member[i], STORM_VAR_USER, 10 + i));
	must(storm_compare_and_write(domain, &P, STORM_VAR_USER, STORM_GE, 10,
				     NULL, NULL) == STORM_TRUE);
	must(storm_compare_and_write(domain, NULL, STORM_VAR_USER, STORM_GE, 10,
				     NULL, NULL) == STORM_FALSE);
	must(storm_compare_and_write(domain, NULL, STORM_VAR_USER, STORM_GE, 10,
				     &w, NULL) == STORM_FALSE);
	must(!storm_member_variable(member[0], w.var, &v) && v == 0);
	must(storm_compare_and_write(domain, &P, STORM_VAR_USER, STORM_GE, 10,
				     &w, NULL) == STORM_TRUE);
	for (uint32_t i = 0; i < NODES; i++)
		must(!storm_member_variable(member[i], w.var, &v) &&
		     v == (i < 3 ? 77 : 0));
	must(storm_compare_and_write(domain, &P, w.var, STORM_EQ, 77, NULL,
				     NULL) == STORM_TRUE);
	must(storm_compare_and_write(domain, NULL, w.var, STORM_NE, 77, NULL,
				     NULL) == STORM_FALSE);
	must(!storm_member_own_set(member[2], STORM_VAR_USER, 3));
	must(!storm_member_variable(member[2], STORM_VAR_USER, &v) && v == 12);
	ck_assert_int_eq(storm_member_variable(member[2], STORM_VARS, &v),
			 STORM_EINVAL);
	ck_assert_int_eq(storm_member_own_set(member[2], STORM_VARS, 1),
			 STORM_EINVAL);
	storm_idset_clear(&P);
}
END_TEST

static void *wait_for_event(void *arg)
{
	return (void *) (intptr_t) storm_member_test_event(arg, 1, true, 0);
}

/* The domain has ended: waiters wake, and what has arrived can be read. */
START_TEST(test_closed)
{
	struct storm_target to = { .kind = STORM_TARGET_MEMORY,
				   .remote_event = 2 };
	pthread_t t[NODES];
	uint64_t v;
	void *rc;

	nodes_open();
	must(transfer(NULL, &to, "x", 1, NULL) == STORM_DONE);
	for (uint32_t i = 0; i < NODES; i++)
		must(!pthread_create(&t[i], NULL, wait_for_event, member[i]));
	storm_domain_destroy(domain);
	domain = NULL;
	for (uint32_t i = 0; i < NODES; i++) {
		must(!pthread_join(t[i], &rc));
		ck_assert_int_eq((intptr_t) rc, STORM_ECLOSED);
		must(!storm_member_test_event(member[i], 2, true, 0));
		ck_assert_int_eq(storm_member_test_event(member[i], 2, true, 0),
				 STORM_ECLOSED);
		ck_assert_int_eq(storm_member_own_set(member[i], STORM_VAR_USER,
						      1),
				 STORM_ECLOSED);
		ck_assert_int_eq(storm_member_variable(member[i],
						       STORM_VAR_USER, &v),
				 STORM_ECLOSED);
		ck_assert_int_eq(storm_member_report(member[i], 0, 0, NULL),
				 STORM_ECLOSED);
		storm_member_release(member[i]);
		member[i] = NULL;
	}
	/* the nodes serve the next domain, and lost ones are named */
	nodes_open();
	must(transfer(NULL, &to, "x", 1, NULL) == STORM_DONE);
}
END_TEST

/* A node that ends: it is named, and the others go on. */
START_TEST(test_node_ends)
{
	struct storm_target to = { .kind = STORM_TARGET_MEMORY,
				   .remote_event = 2 };
	struct storm_idset P = some(0, 3);
	struct storm_outcome out = { 0 };

	set.dead_timeout = 300 * STORM_MS * unit_slower();
	set.heartbeat = 50 * STORM_MS;
	nodes_open();
	storm_node_destroy(host[4]);
	host[4] = NULL;
	ck_assert_int_eq(storm_member_test_event(member[4], 2, true, 0),
			 STORM_ECLOSED);
	if (transfer(NULL, &to, "x", 1, &out) == STORM_ABORTED)
		must(out.nfaults == 1 && out.faults[0].node == 4);
	storm_outcome_clear(&out);
	must(transfer(&P, &to, "y", 1, NULL) == STORM_DONE);
	storm_idset_clear(&P);
}
END_TEST

/* Only the uid that may, and only under our name. */
START_TEST(test_refused)
{
	struct storm_outcome out = { 0 };
	struct storm_node_conf conf = {
		.name = names[3],
		.set = set,
		.owner_uid = OWNER_UID + 1,
	};
	int err;

	storm_node_destroy(host[3]);
	conf.set.port = list[3].addr.port;
	if (_i) {
		conf.owner_uid = OWNER_UID;
		conf.name = "other";
	}
	host[3] = storm_node_create(&conf, &err);
	must(host[3]);
	domain = nodes_domain();
	must(!storm_domain_open(domain));
	ck_assert_int_eq(storm_domain_wait_open(domain, &out), STORM_EACCES);
	must(out.nfaults == 1 && out.faults[0].node == 3);
	storm_outcome_clear(&out);
	must(!storm_node_accept(host[3], false, 0));
}
END_TEST

struct reported {
	pthread_mutex_t lock;
	struct storm_idset ids[2];
};

static void on_report(void *arg, const struct storm_report *r)
{
	struct reported *got = arg;

	pthread_mutex_lock(&got->lock);
	must(r->kind == 4 && r->code < 2);
	for (uint32_t i = 0; i < r->ids.count; i++)
		must(!storm_idset_add(&got->ids[r->code], r->ids.r[i].first,
				      r->ids.r[i].last));
	pthread_mutex_unlock(&got->lock);
}

START_TEST(test_reports)
{
	struct reported got = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct storm_domain_conf conf = { .nodes = list,
					  .count = NODES,
					  .set = set,
					  .on_report = on_report,
					  .arg = &got };
	uint64_t give_up = PATIENCE;
	bool all = false;
	int err;

	domain = storm_domain_create(&conf, &err);
	must(domain && !storm_domain_open(domain) &&
	     !storm_domain_wait_open(domain, NULL));
	for (uint32_t i = 0; i < NODES; i++) {
		struct storm_idset me = some(i, i);

		member[i] = storm_node_accept(host[i], true, PATIENCE);
		ck_assert_int_eq(storm_member_report(
					 member[i], STORM_REPORT_KINDS, 0, &me),
				 STORM_EINVAL);
		must(!storm_member_report(member[i], 4, i == 2, &me));
		storm_idset_clear(&me);
	}
	while (!all && storm_now() < give_up) {
		usleep(1000);
		pthread_mutex_lock(&got.lock);
		all = storm_idset_size(&got.ids[0]) == NODES - 1 &&
		      storm_idset_size(&got.ids[1]) == 1;
		pthread_mutex_unlock(&got.lock);
	}
	must(all && storm_idset_has(&got.ids[1], 2));
	storm_domain_destroy(domain);
	domain = NULL;
	storm_idset_clear(&got.ids[0]);
	storm_idset_clear(&got.ids[1]);
}
END_TEST

/* A file as it is on disk; an empty one; what is none. */
START_TEST(test_transfer_file)
{
	struct storm_target to = { .kind = STORM_TARGET_FILE,
				   .path = "/copy",
				   .mode = 0600,
				   .flags = STORM_FILE_FORCE };
	size_t len[] = { 1 << 20, 0 };
	struct rnd r = rnd_of(2);
	uint8_t *data = malloc(len[0]);
	char path[80];

	must(data);
	rnd_fill(&r, data, len[0]);
	snprintf(path, sizeof(path), "%s/original", dir);
	nodes_open();
	for (int k = 0; k < 2; k++) {
		struct storm_outcome out = { 0 };
		FILE *f = fopen(path, "w+");
		storm_event_t *e;

		must(f && fwrite(data, 1, len[k], f) == len[k] && !fflush(f));
		e = storm_transfer_file(domain, NULL, fileno(f), &to);
		fclose(f);
		must(e && storm_test_event(e, true, PATIENCE, &out));
		must(out.state == STORM_DONE &&
		     storm_event_progress(e) == len[k]);
		storm_event_destroy(e);
		storm_outcome_clear(&out);
		for (uint32_t i = 0; i < NODES; i++)
			holds(i, "copy", data, len[k]);
	}
	must(!storm_transfer_file(domain, NULL, -1, &to) && errno == EBADF);
	to.kind = 0;
	{
		FILE *f = fopen(path, "r");

		must(f && !storm_transfer_file(domain, NULL, fileno(f), &to) &&
		     !errno);
		fclose(f);
		must((f = fopen("/dev/null", "r")));
		must(!storm_transfer_file(domain, NULL, fileno(f), &to) &&
		     errno == EINVAL);
		fclose(f);
	}
	free(data);
}
END_TEST

/* A file that is cut while it is sent aborts the transfer, and ends nothing. */
START_TEST(test_file_becomes_shorter)
{
	struct storm_target to = { .kind = STORM_TARGET_FILE,
				   .path = "/copy",
				   .mode = 0600 };
	struct storm_outcome out = { 0 };
	storm_event_t *e;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/original", dir);
	f = fopen(path, "w+");
	must(f && !ftruncate(fileno(f), 64 << 20));
	nodes_open();
	e = storm_transfer_file(domain, NULL, fileno(f), &to);
	must(e && !ftruncate(fileno(f), 4096));
	must(storm_test_event(e, true, PATIENCE, &out));
	must(out.state == STORM_ABORTED && out.nfaults == 1);
	must(out.faults[0].node == STORM_NO_NODE && !out.faults[0].sys &&
	     out.faults[0].why == STORM_ESOURCE);
	storm_event_destroy(e);
	storm_outcome_clear(&out);
	fclose(f);
	for (uint32_t i = 0; i < NODES; i++) {
		at(i, "copy", path);
		must(access(path, F_OK) && errno == ENOENT);
	}
}
END_TEST

static void *announce(void *arg)
{
	uint32_t i = (uint32_t) (uintptr_t) arg;

	usleep(1000 * i);
	must(!storm_announce_termination(member[i], 1));
	usleep(1000 * (NODES - i));
	must(!storm_announce_termination(member[i], 2));
	return NULL;
}

/* Not before the last one has announced it, and by any of them. */
START_TEST(test_termination)
{
	struct storm_idset P = some(1, 2);
	pthread_t t[NODES];

	nodes_open();
	ck_assert_int_eq(storm_detect_termination(domain, NULL, 1,
						  storm_now() + 20 * STORM_MS,
						  NULL),
			 STORM_ETIME);
	must(!storm_announce_termination(member[1], 1));
	ck_assert_int_eq(storm_detect_termination(domain, &P, 1,
						  storm_now() + 300 * STORM_MS,
						  NULL),
			 STORM_ETIME);
	must(!storm_announce_termination(member[2], 1));
	ck_assert_int_eq(storm_detect_termination(domain, &P, 1, PATIENCE,
						  NULL),
			 STORM_OK);
	for (uint32_t i = 0; i < NODES; i++)
		must(!pthread_create(&t[i], NULL, announce,
				     (void *) (uintptr_t) i));
	ck_assert_int_eq(storm_detect_termination(domain, NULL, 1, PATIENCE,
						  NULL),
			 STORM_OK);
	ck_assert_int_eq(storm_detect_termination(domain, NULL, 2, PATIENCE,
						  NULL),
			 STORM_OK);
	ck_assert_int_eq(storm_detect_termination(domain, NULL, 3,
						  storm_now() + 20 * STORM_MS,
						  NULL),
			 STORM_ETIME);
	for (uint32_t i = 0; i < NODES; i++)
		must(!pthread_join(t[i], NULL));
	ck_assert_int_eq(storm_announce_termination(member[0], 0),
			 STORM_EINVAL);
	ck_assert_int_eq(storm_detect_termination(domain, NULL, 0, 0, NULL),
			 STORM_EINVAL);
	storm_idset_clear(&P);
}
END_TEST

/* One that is lost before it could announce anything. */
START_TEST(test_termination_lost)
{
	struct storm_idset P = some(3, 3);
	struct storm_outcome out = { 0 };

	set.dead_timeout = 300 * STORM_MS * unit_slower();
	set.heartbeat = 50 * STORM_MS;
	nodes_open();
	storm_node_destroy(host[3]);
	host[3] = NULL;
	ck_assert_int_eq(storm_detect_termination(domain, &P, 1, PATIENCE,
						  &out),
			 STORM_ELOST);
	must(out.nfaults == 1 && out.faults[0].node == 3);
	storm_outcome_clear(&out);
	storm_idset_clear(&P);
}
END_TEST

/* Requests of a node at the domain's end; events that no transfer signals. */
START_TEST(test_requests)
{
	struct storm_target to = { .kind = STORM_TARGET_SEGMENT,
				   .segment = 3,
				   .remote_event = 1 };
	struct storm_assign w = { STORM_GLOBAL(0), 7 };
	struct storm_outcome out;
	storm_event_t *e[NODES];
	char much[2000] = "";
	int err;

	nodes_open();
	must(storm_member_compare_and_write(member[1], NULL, w.var, STORM_EQ, 0,
					    &w, &out) == STORM_TRUE);
	storm_outcome_clear(&out);
	must(storm_compare_and_write(domain, NULL, w.var, STORM_EQ, 7, NULL,
				     NULL) == STORM_TRUE);
	must(storm_member_compare_and_write(member[1], NULL, STORM_VARS,
					    STORM_EQ, 0, &w,
					    &out) == STORM_FAILED &&
	     out.state == STORM_ABORTED);
	storm_event_destroy(
		storm_member_xfer_and_signal(member[2], NULL, &to, "x", 1));
	for (uint32_t i = 0; i < NODES; i++)
		must(!storm_member_test_event(member[i], 1, true, PATIENCE) &&
		     memory[i][0] == 'x');
	must(!storm_member_xfer_and_signal(member[2], NULL, &to, much,
					   sizeof(much)));
	to.kind = STORM_TARGET_FILE;
	must(!storm_member_xfer_and_signal(member[2], NULL, &to, "x", 1));
	to.kind = STORM_TARGET_SEGMENT;
	to.offset = 8;
	for (uint32_t i = 0; i < NODES; i++) {
		e[i] = storm_member_xfer_and_signal(member[i], NULL, &to, "y",
						    1);
		must(e[i]);
	}
	storm_domain_destroy(domain);
	domain = NULL;
	for (uint32_t i = 0; i < NODES; i++) {
		must(storm_test_event(e[i], true, PATIENCE, &out));
		storm_outcome_clear(&out);
		storm_event_destroy(e[i]);
		/* answered before the end; that takes its way, too */
		while (!(err = storm_member_test_event(member[i], 1, true,
						       PATIENCE)))
			;
		ck_assert_int_eq(err, STORM_ECLOSED);
		must(!storm_member_xfer_and_signal(member[i], NULL, &to, "z",
						   1));
	}
}
END_TEST

START_TEST(test_bad_conf)
{
	struct storm_node_conf conf = { .name = names[0], .set = set };
	struct storm_addr a;
	int err;

	conf.set.port = list[0].addr.port; /* taken */
	must(!storm_node_create(&conf, &err));
	ck_assert_int_eq(err, STORM_ESYS);
	conf.set.port = (uint16_t) (list[0].addr.port + NODES);
	conf.root = "/nowhere/at/all";
	must(!storm_node_create(&conf, &err));
	ck_assert_int_eq(err, STORM_ESYS);
	conf.name = "";
	must(!storm_node_create(&conf, &err));
	ck_assert_int_eq(err, STORM_EINVAL);
	storm_node_destroy(NULL);
	storm_member_release(NULL);
	ck_assert_int_eq(storm_addr_set(&a, "1.2.3", 1), STORM_EINVAL);
	storm_node_address(host[1], &a);
	must(a.port == list[1].addr.port);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("node");
	TCase *t = tcase_create("node");

	tcase_add_checked_fixture(t, nodes_setup, nodes_teardown);
	tcase_add_test(t, test_segment);
	tcase_add_test(t, test_message);
	tcase_add_test(t, test_file);
	tcase_add_loop_test(t, test_bad_file, 0, sizeof(bad) / sizeof(*bad));
	tcase_add_test(t, test_variables);
	tcase_add_test(t, test_closed);
	tcase_add_test(t, test_node_ends);
	tcase_add_loop_test(t, test_refused, 0, 2);
	tcase_add_test(t, test_reports);
	tcase_add_test(t, test_transfer_file);
	tcase_add_test(t, test_file_becomes_shorter);
	tcase_add_test(t, test_termination);
	tcase_add_test(t, test_termination_lost);
	tcase_add_test(t, test_requests);
	tcase_add_test(t, test_bad_conf);
	suite_add_tcase(s, t);
	return nodes_main(s);
}
