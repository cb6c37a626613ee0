/*
 * test_domain.c - domains and their events in a program: when, and by which thread,
 * they can be destroyed, and that this never blocks.  The node is a socket that
 * accepts the OPEN and never answers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/wire/credential.h"
#include "src/libstorm/wire/open.h"
#include "unit.h"

#define SIZE 100000

static int listener;
static struct storm_settings set;
static struct storm_node node = { .name = "n1" };

static int keep(uint32_t uid, const void *payload, size_t len, char **cred)
{
	(void) uid;
	(void) payload;
	(void) len;
	*cred = strdup("credential");
	return *cred ? STORM_OK : STORM_ENOMEM;
}

static const struct storm_credential_ops pair = { keep, NULL };

static void setup(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);

	storm_credential_use(&pair);
	storm_settings_default(&set);
	strcpy(set.interface, "lo");
	set.multicast = false;
	set.open_timeout *= unit_slower();
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	must(!bind(listener, (struct sockaddr *) &sin, sizeof(sin)) &&
	     !listen(listener, 5) &&
	     !getsockname(listener, (struct sockaddr *) &sin, &len));
	memset(&node.addr, 0, sizeof(node.addr));
	memset(node.addr.ip + 10, 0xff, 2);
	memcpy(node.addr.ip + 12, &sin.sin_addr, 4);
	node.addr.port = ntohs(sin.sin_port);
}

static void teardown(void)
{
	close(listener);
}

static storm_domain_t *domain(void)
{
	struct storm_domain_conf conf = { .nodes = &node,
					  .count = 1,
					  .set = set };
	int err;
	storm_domain_t *d = storm_domain_create(&conf, &err);

	must(d);
	return d;
}

static storm_event_t *transfer(storm_domain_t *d, const char *path,
			       const void *buf)
{
	struct storm_target to = { .kind = STORM_TARGET_FILE,
				   .path = path,
				   .mode = 0755 };
	storm_event_t *e = storm_xfer_and_signal(d, NULL, &to, buf, SIZE);

	must(e);
	return e;
}

/* A buffer that the sanitizers watch once it is freed. */
static void *bytes(void)
{
	void *p = calloc(1, SIZE);

	must(p);
	return p;
}

static char said[200];

static void keep_line(enum storm_log_level level, const char *msg)
{
	if (level == STORM_LOG_ERROR)
		snprintf(said, sizeof(said), "%s", msg);
}

/* Thresholds that contradict each other are refused, both being named. */
START_TEST(test_thresholds)
{
	struct storm_domain_conf conf = { .nodes = &node,
					  .count = 1,
					  .set = set };
	int err = STORM_OK;

	conf.set.heartbeat = 3 * STORM_SEC;
	storm_log_set(keep_line);
	must(!storm_domain_create(&conf, &err) && err == STORM_EINVAL);
	storm_log_set(NULL);
	must(strstr(said, "dead_timeout (5000 ms)") &&
	     strstr(said, "heartbeat (3000 ms)"));
}
END_TEST

static void is_aborted(storm_event_t *e)
{
	struct storm_outcome out = { 0 };

	must(storm_test_event(e, false, 0, &out));
	must(out.state == STORM_ABORTED);
	storm_outcome_clear(&out);
	/* blocks no more, whatever is there of the domain */
	must(storm_test_event(e, true, 0, NULL));
	must(storm_event_progress(e) == SIZE);
}

/* Neither opened nor waited for. */
START_TEST(test_before_open)
{
	storm_domain_t *d = domain();
	void *buf[3] = { bytes(), bytes(), bytes() };
	storm_event_t *e[3];

	for (int i = 0; i < 3; i++)
		e[i] = transfer(d, "/tmp/x", buf[i]);
	must(!storm_test_event(e[1], false, 0, NULL));
	must(!storm_event_progress(e[1]));
	storm_event_destroy(e[1]);
	free(buf[1]);
	storm_event_destroy(e[2]); /* the last one */
	free(buf[2]);
	e[1] = transfer(d, "/tmp/y", buf[0]); /* behind the first */
	must(storm_event_cancel(e[1]) &&
	     !storm_test_event(e[1], false, 0, NULL));
	storm_event_destroy(e[0]);
	storm_domain_destroy(d);
	is_aborted(e[1]);
	storm_event_destroy(e[1]);
	free(buf[0]);
	storm_event_destroy(NULL);
}
END_TEST

/* While the OPEN that reports it is under way. */
START_TEST(test_while_opening)
{
	storm_domain_t *d = domain();
	void *a = bytes(), *b = bytes();
	storm_event_t *first = transfer(d, "/tmp/x", a);
	storm_event_t *second = transfer(d, "/tmp/y", b);

	must(!storm_domain_open(d));
	storm_event_destroy(first); /* does not wait for OPEN */
	free(a);
	storm_event_destroy(second);
	free(b);
	second = transfer(d, "/tmp/z", NULL);
	must(!storm_test_event(second, true, storm_now() + STORM_MS, NULL));
	storm_domain_destroy(d);
	is_aborted(second);
	storm_event_destroy(second);
}
END_TEST

/* The domain opens for no node: its events end with it, and are kept. */
START_TEST(test_open_failed)
{
	struct storm_outcome out = { 0 };
	storm_domain_t *d;
	storm_event_t *e;

	set.open_timeout = STORM_MS;
	d = domain();
	e = transfer(d, "/tmp/x", NULL);
	must(!storm_domain_open(d));
	ck_assert_int_eq(storm_domain_wait_open(d, &out), STORM_ETIME);
	ck_assert_uint_eq(out.faults_kept, 1);
	storm_outcome_clear(&out);
	must(storm_test_event(e, true, 0, NULL));
	storm_domain_destroy(d);
	is_aborted(e);
	storm_event_destroy(e);
}
END_TEST

struct waiter {
	pthread_t thread;
	storm_event_t *e;
};

static void *wait_for(void *arg)
{
	struct storm_outcome out = { 0 };
	bool done = storm_test_event(((struct waiter *) arg)->e, true, 0, &out);
	bool ended = done && out.state == STORM_ABORTED;

	storm_outcome_clear(&out);
	return ended ? arg : NULL;
}

/* A waiting thread is woken by the end of the domain, and must not use it. */
START_TEST(test_waiters)
{
	storm_domain_t *d = domain();
	struct waiter w[8];
	void *ended;

	must(!storm_domain_open(d));
	for (int i = 0; i < 8; i++) {
		w[i].e = transfer(d, "/tmp/x", NULL);
		must(!pthread_create(&w[i].thread, NULL, wait_for, &w[i]));
	}
	if (_i % 2)
		sched_yield();
	storm_domain_destroy(d);
	for (int i = 0; i < 8; i++) {
		must(!pthread_join(w[i].thread, &ended));
		must(ended == &w[i]);
		is_aborted(w[i].e);
		storm_event_destroy(w[i].e);
	}
}
END_TEST

/* A session is named by the OPEN's body, which no one may know beforehand. */
START_TEST(test_sessions)
{
	static const size_t nonce = 4 + 16 + sizeof("credential") - 1 + 4;
	uint8_t sent[2][64];

	for (int i = 0; i < 2; i++) {
		storm_domain_t *d = domain();
		int fd;

		must(!storm_domain_open(d));
		fd = accept(listener, NULL, NULL);
		must(recv(fd, sent[i], sizeof(sent[i]), MSG_WAITALL) ==
		     sizeof(sent[i]));
		close(fd);
		storm_domain_destroy(d);
	}
	must(!memcmp(sent[0], sent[1], nonce));
	must(memcmp(sent[0] + nonce, sent[1] + nonce, STORM_NONCE_LEN));
}
END_TEST

/* No such target: no event. */
START_TEST(test_no_target)
{
	static const struct storm_target bad[] = {
		{ .kind = STORM_TARGET_FILE },
		{ .kind = STORM_TARGET_FILE, .path = "" },
		{ .kind = STORM_TARGET_FILE, .path = "/x", .mode = 04755 },
		{ .kind = STORM_TARGET_FILE, .path = "/x", .flags = 0x20 },
	};
	storm_domain_t *d = domain();

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_ptr_null(
			storm_xfer_and_signal(d, NULL, &bad[i], "x", 1));
	storm_domain_destroy(d);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("domain");
	TCase *t = tcase_create("domain");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_thresholds);
	tcase_add_test(t, test_before_open);
	tcase_add_test(t, test_while_opening);
	tcase_add_test(t, test_open_failed);
	tcase_add_loop_test(t, test_waiters, 0, unit_runs(10));
	tcase_add_test(t, test_sessions);
	tcase_add_test(t, test_no_target);
	suite_add_tcase(s, t);
	return unit_main(s);
}
