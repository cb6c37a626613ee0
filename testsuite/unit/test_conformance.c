/*
 * test_conformance.c - what storm.h promises, over every transport: what one
 * passes all pass.  One thread, no clock but the world's, and every judgement from
 * what nodes show.  A transport joins by a world of its own in nodes.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>

#include "nodes.h"

#define AREA 64 /* bytes of a segment that one transfer writes */
#define AREAS (SIZE / AREA)

/* Where a node is to be missed soon; by valgrind there is no time for more. */
#define HEARTBEAT ((unit_by_valgrind() ? 500 : 50) * STORM_MS)

/* A living node's thread may have to wait so long for a processor. */
#define DEAD (STORM_SEC * (unit_slower() > 3 ? unit_slower() : 3))

/* Until it holds, or patience is over. */
#define until(cond)                                       \
	({                                                \
		uint64_t give_up_ = PATIENCE;             \
		while (!(cond) && nodes_now() < give_up_) \
			nodes_pass(STORM_MS);             \
		(cond);                                   \
	})

static struct storm_idset random_set(struct rnd *r)
{
	struct storm_idset P = { 0 };

	while (!P.count)
		for (uint32_t i = 0; i < NODES; i++)
			if (below(r, 2))
				must(!storm_idset_add(&P, i, i));
	return P;
}

/* ------------------------------------------------------ one memory, in order --- */

/* What nodes must show after the operations so far. */
static struct model {
	uint8_t memory[SIZE];
	uint64_t own[STORM_VARS], global[STORM_GLOBALS];
	uint32_t signals[STORM_EVENTS];
} model[NODES];

static bool holds(uint64_t a, enum storm_relation rel, uint64_t b)
{
	return rel == STORM_GE ? a >= b :
	       rel == STORM_LT ? a < b :
	       rel == STORM_EQ ? a == b :
				 a != b;
}

/* By a node, or by the owner (NODES). */
static enum storm_state by(uint32_t who, const struct storm_idset *P,
			   const struct storm_target *to, const void *buf,
			   size_t len)
{
	struct storm_outcome out;
	enum storm_state state;
	storm_event_t *e;

	if (who == NODES)
		return transfer(P, to, buf, len, NULL);
	e = storm_member_xfer_and_signal(member[who], P, to, buf, len);
	must(e && storm_test_event(e, true, PATIENCE, &out));
	state = out.state;
	storm_outcome_clear(&out);
	storm_event_destroy(e);
	return state;
}

static enum storm_compare ask(uint32_t who, const struct storm_idset *P,
			      uint32_t var, enum storm_relation rel,
			      uint64_t value, const struct storm_assign *w,
			      struct storm_outcome *out)
{
	if (who == NODES)
		return storm_compare_and_write(domain, P, var, rel, value, w,
					       out);
	return storm_member_compare_and_write(member[who], P, var, rel, value,
					      w, out);
}

static void a_transfer(struct rnd *r, const struct storm_idset *P, bool all)
{
	struct storm_target to = {
		.kind = STORM_TARGET_SEGMENT,
		.segment = 3,
		.offset = below(r, AREAS) * AREA,
		.remote_event = below(r, STORM_EVENTS),
	};
	size_t len = below(r, AREA + 1);
	uint8_t data[AREA];

	rnd_fill(r, data, len);
	must(by(below(r, NODES + 1), all ? NULL : P, &to, data, len) ==
	     STORM_DONE);
	for (uint32_t i = 0; i < NODES; i++) {
		if (!all && !storm_idset_has(P, i))
			continue;
		memcpy(model[i].memory + to.offset, data, len);
		model[i].signals[to.remote_event]++;
	}
}

static void a_compare(struct rnd *r, const struct storm_idset *P, bool all)
{
	uint32_t n = below(r, 3),
		 var = below(r, 2) ? STORM_GLOBAL(n) : STORM_VAR_USER + n;
	enum storm_relation rel = below(r, 4);
	struct storm_assign w = { STORM_GLOBAL(below(r, 3)), below(r, 4) };
	bool writes = below(r, 2), truth = true;
	uint64_t value = below(r, 4);
	struct storm_outcome out;

	for (uint32_t i = 0; i < NODES; i++)
		if (all || storm_idset_has(P, i))
			truth &= holds(var >= STORM_GLOBAL(0) ?
					       model[i].global[n] :
					       model[i].own[var],
				       rel, value);
	ck_assert_int_eq(ask(below(r, NODES + 1), all ? NULL : P, var, rel,
			     value, writes ? &w : NULL, &out),
			 truth ? STORM_TRUE : STORM_FALSE);
	must(out.state == STORM_DONE && !out.nfaults);
	storm_outcome_clear(&out);
	for (uint32_t i = 0; truth && writes && i < NODES; i++)
		if (all || storm_idset_has(P, i))
			model[i].global[w.var - STORM_GLOBAL(0)] = w.value;
}

static void a_raise(struct rnd *r)
{
	uint32_t i = below(r, NODES), var = STORM_VAR_USER + below(r, 3);
	uint64_t value = below(r, 4);

	must(!storm_member_own_set(member[i], var, value));
	if (value > model[i].own[var])
		model[i].own[var] = value;
}

static void all_show(void)
{
	for (uint32_t i = 0; i < NODES; i++) {
		uint64_t v;

		must(!memcmp(memory[i], model[i].memory, SIZE));
		for (uint32_t n = 0; n < 3; n++)
			must(!storm_member_variable(member[i], STORM_GLOBAL(n),
						    &v) &&
			     v == model[i].global[n]);
		for (uint32_t e = 1; e < STORM_EVENTS; e++) {
			while (model[i].signals[e]) {
				must(!storm_member_test_event(member[i], e,
							      true, PATIENCE));
				model[i].signals[e]--;
			}
			ck_assert_int_eq(storm_member_test_event(member[i], e,
								 false, 0),
					 STORM_ETIME);
		}
	}
}

START_TEST(test_one_memory)
{
	struct rnd r = rnd_of(_i);

	nodes_seed(_i);
	nodes_open();
	for (int k = 0; k < 40; k++) {
		struct storm_idset P = random_set(&r);
		bool all = !below(&r, 3);

		switch (below(&r, 3)) {
		case 0:
			a_transfer(&r, &P, all);
			break;
		case 1:
			a_compare(&r, &P, all);
			break;
		default:
			a_raise(&r);
		}
		storm_idset_clear(&P);
	}
	all_show();
}
END_TEST

/* ------------------------------------------------------------------ transfers --- */

/* Many under way: each node sees its own in the order of the calls. */
START_TEST(test_order)
{
	enum { MANY = 30 };
	struct rnd r = rnd_of(_i);
	storm_event_t *e[MANY];
	uint32_t expected[NODES] = { 0 };
	char text[MANY][16], last[NODES][16];

	nodes_seed(_i);
	nodes_open();
	memset(last, 0, sizeof(last));
	memset(text, 0, sizeof(text));
	for (int k = 0; k < MANY; k++) {
		struct storm_target to = { .kind = STORM_TARGET_MEMORY,
					   .remote_event = 1 };
		struct storm_idset P = random_set(&r);

		sprintf(text[k], "message %d", k);
		e[k] = storm_xfer_and_signal(domain, &P, &to, text[k], 16);
		must(e[k]);
		for (uint32_t i = 0; i < NODES; i++)
			if (storm_idset_has(&P, i)) {
				expected[i]++;
				strcpy(last[i], text[k]);
			}
		storm_idset_clear(&P);
	}
	/* an event that has not come yet, or has: never undone */
	for (int k = MANY - 1; k >= 0; k--) {
		struct storm_outcome out;

		must(storm_test_event(e[k], true, PATIENCE, &out));
		must(out.state == STORM_DONE && !out.nfaults);
		must(storm_test_event(e[k], false, 0, NULL));
		must(storm_event_progress(e[k]) == 16);
		storm_outcome_clear(&out);
		storm_event_destroy(e[k]);
	}
	for (uint32_t i = 0; i < NODES; i++) {
		for (uint32_t k = 0; k < expected[i]; k++)
			must(!storm_member_test_event(member[i], 1, true,
						      PATIENCE));
		must(heard[i].count == expected[i]);
		ck_assert_str_eq(heard[i].text, last[i]);
	}
}
END_TEST

/* One that is canceled comes to no node, or to all: the call says which. */
START_TEST(test_cancel)
{
	enum { MANY = 30 };
	struct rnd r = rnd_of(_i);
	storm_event_t *e[MANY];
	bool canceled[MANY];
	uint32_t expected = 0;

	nodes_seed(_i);
	nodes_open();
	for (int k = 0; k < MANY; k++) {
		struct storm_target to = { .kind = STORM_TARGET_MEMORY,
					   .remote_event = 1 };

		e[k] = storm_xfer_and_signal(domain, NULL, &to, "text", 4);
		must(e[k]);
		canceled[k] = false;
		if (below(&r, 3) == 0)
			storm_test_event(e[k], true,
					 nodes_now() + below(&r, 3000000),
					 NULL);
		if (below(&r, 2))
			canceled[k] = storm_event_cancel(e[k]);
	}
	for (int k = 0; k < MANY; k++) {
		struct storm_outcome out;

		must(storm_test_event(e[k], true, PATIENCE, &out));
		must(out.state == (canceled[k] ? STORM_ABORTED : STORM_DONE));
		must(storm_event_cancel(e[k]) == canceled[k]);
		expected += !canceled[k];
		storm_outcome_clear(&out);
		storm_event_destroy(e[k]);
	}
	for (uint32_t i = 0; i < NODES; i++) {
		for (uint32_t k = 0; k < expected; k++)
			must(!storm_member_test_event(member[i], 1, true,
						      PATIENCE));
		must(storm_member_test_event(member[i], 1, false, 0) ==
		     STORM_ETIME);
	}
}
END_TEST

static const size_t sizes[] = {
	0, 1, 1300, 1400, 1500, 65535, 65536, 65537, 300000, 2000001,
};

static void shows(uint32_t i, const char *name, const void *data, size_t len)
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

static uint32_t files(uint32_t i)
{
	char path[128];
	uint32_t n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
	d = opendir(path);
	must(d);
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_type == DT_REG;
	closedir(d);
	return n;
}

/* Of any size, to the byte, and nothing else is left behind. */
START_TEST(test_files)
{
	struct storm_target to = { .kind = STORM_TARGET_FILE,
				   .path = "/f",
				   .mode = 0600 };
	struct rnd r = rnd_of(_i);
	size_t len = sizes[_i];
	uint8_t *data = malloc(len + 1);

	must(data);
	rnd_fill(&r, data, len);
	nodes_open();
	must(transfer(NULL, &to, data, len, NULL) == STORM_DONE);
	for (uint32_t i = 0; i < NODES; i++) {
		shows(i, "f", data, len);
		must(files(i) == 1);
	}
	free(data);
}
END_TEST

/* A node that cannot proceed stops all, is named, and no node shows anything.
 * */
START_TEST(test_all_or_nothing)
{
	struct storm_target to = { .kind = STORM_TARGET_FILE,
				   .path = "/f",
				   .mode = 0600,
				   .remote_event = 4 };
	uint32_t bad = (uint32_t) _i;
	struct storm_outcome out;
	uint8_t data[50000];
	char path[128];
	FILE *f;

	memset(data, 'x', sizeof(data));
	snprintf(path, sizeof(path), "%s/%s/f", dir, names[bad]);
	f = fopen(path, "w");
	must(f);
	fclose(f);
	nodes_open();
	must(transfer(NULL, &to, data, sizeof(data), &out) == STORM_ABORTED);
	must(out.nfaults == 1 && out.faults[0].node == bad &&
	     out.faults[0].why == STORM_EEXIST);
	storm_outcome_clear(&out);
	/* a later operation follows it: then nothing of it is left */
	to.flags = STORM_FILE_FORCE;
	to.path = "/g";
	must(transfer(NULL, &to, data, 10, NULL) == STORM_DONE);
	for (uint32_t i = 0; i < NODES; i++) {
		must(!storm_member_test_event(member[i], 4, true, PATIENCE));
		ck_assert_int_eq(storm_member_test_event(member[i], 4, false,
							 0),
				 STORM_ETIME);
		must(files(i) == 1u + (i == bad));
	}
}
END_TEST

/* Cancelled at a random time: all nodes show it, or none. */
START_TEST(test_called_off)
{
	struct storm_target to = { .kind = STORM_TARGET_FILE,
				   .path = "/f",
				   .mode = 0600 };
	static uint8_t data[400000];
	storm_event_t *e;
	uint32_t n = 0;

	nodes_seed(_i);
	nodes_open();
	e = storm_xfer_and_signal(domain, NULL, &to, data, sizeof(data));
	must(e);
	nodes_pass((uint64_t) _i * 300 * STORM_US);
	storm_event_destroy(e);
	memset(data, 1, sizeof(data)); /* it is not read any more */
	to.path = "/g";
	must(transfer(NULL, &to, "x", 1, NULL) == STORM_DONE);
	for (uint32_t i = 0; i < NODES; i++) {
		must(files(i) == 1 || files(i) == 2);
		n += files(i) == 2;
	}
	must(n == 0 || n == NODES);
	memset(data, 0, sizeof(data));
	for (uint32_t i = 0; n && i < NODES; i++)
		shows(i, "f", data, sizeof(data));
}
END_TEST

/* A deadline is kept: not ended before it, and not waited for much longer. */
START_TEST(test_deadline)
{
	struct storm_target to = { .kind = STORM_TARGET_MEMORY };
	uint64_t then;
	storm_event_t *e;

	domain = nodes_domain(); /* not opened: nothing can end */
	e = storm_xfer_and_signal(domain, NULL, &to, "x", 1);
	must(e && !storm_test_event(e, false, 0, NULL));
	then = nodes_now() + 20 * STORM_MS;
	must(!storm_test_event(e, true, then, NULL));
	must(nodes_now() >= then);
	storm_event_destroy(e);
}
END_TEST

/* ---------------------------------------------------------- built on these --- */

static uint32_t least(const uint32_t *n)
{
	uint32_t min = n[0];

	for (uint32_t i = 1; i < NODES; i++)
		min = n[i] < min ? n[i] : min;
	return min;
}

START_TEST(test_queue)
{
	struct storm_queue_conf conf = {
		.segment = 3,
		.slots = 1 + (uint32_t) _i % 4,
		.slot_size = 20,
		.event = 2,
		.dequeued = STORM_VAR_USER + 1,
	};
	uint32_t put = 0, got[NODES] = { 0 };
	struct rnd r = rnd_of(_i);
	storm_queue_t *q;

	nodes_seed(_i);
	nodes_open();
	q = storm_queue_create(domain, NULL, &conf);
	must(q);
	while (least(got) < 12) {
		uint32_t i = below(&r, NODES + 1);
		char text[20], wanted[20];
		size_t len;

		if (i == NODES && put < 12) {
			int err = storm_enqueue(
				q, text, (size_t) sprintf(text, "%u", put),
				nodes_now() + STORM_MS, NULL);

			must(err == STORM_OK || err == STORM_ETIME);
			put += !err;
		} else if (i < NODES && got[i] < put &&
			   !storm_dequeue(member[i], &conf, memory[i], true,
					  PATIENCE, text, &len)) {
			must(len == (size_t) sprintf(wanted, "%u", got[i]) &&
			     !memcmp(text, wanted, len));
			got[i]++;
		}
		for (uint32_t k = 0; k < NODES; k++)
			must(put - got[k] <= conf.slots);
	}
	storm_queue_destroy(q);
}
END_TEST

START_TEST(test_termination)
{
	struct storm_idset P = some(1, 3);

	nodes_seed(_i);
	nodes_open();
	for (uint32_t g = 1; g <= 3; g++) {
		for (uint32_t i = 0; i < NODES; i++) {
			if (i == 3)
				ck_assert_int_eq(
					storm_detect_termination(
						domain, &P, g,
						nodes_now() + 5 * STORM_MS,
						NULL),
					STORM_ETIME);
			must(!storm_announce_termination(member[i], g));
		}
		ck_assert_int_eq(storm_detect_termination(domain, &P, g,
							  PATIENCE, NULL),
				 STORM_OK);
		ck_assert_int_eq(storm_detect_termination(domain, NULL, g,
							  PATIENCE, NULL),
				 STORM_OK);
	}
	storm_idset_clear(&P);
}
END_TEST

/* A node that the mask reports has the heartbeat, and with it its data. */
START_TEST(test_heartbeat)
{
	bool lossy = world == WORLD_UDP_LOSS || world == WORLD_VERBS_LOSS ||
		     world == WORLD_SIM_LOSS || world == WORLD_SIM_CHAIN;
	struct storm_idset missed, P = some(1, 3);
	uint32_t all = 0, times = 40;
	uint64_t number, before = 0, v;
	char text[32];

	nodes_seed(_i);
	domain = nodes_domain();
	must(!storm_strobe(domain, "early", 5));
	storm_domain_destroy(domain);
	nodes_open();
	for (uint32_t k = 0; k < times; k++) {
		struct storm_idset *p = k % 2 ? &P : NULL;
		size_t len = (size_t) sprintf(text, "beat %u", k);
		struct storm_outcome out;
		int err = storm_heartbeat(domain, p, text, len, &number,
					  &missed, &out);

		must(number > before && !out.nfaults);
		before = number;
		must(err == (missed.count ? STORM_ETIME : STORM_OK));
		must(lossy || !missed.count);
		for (uint32_t i = 0; i < NODES; i++) {
			if (p && !storm_idset_has(p, i)) {
				must(!storm_idset_has(&missed, i));
				continue;
			}
			if (storm_idset_has(&missed, i))
				continue;
			must(!storm_member_variable(member[i],
						    STORM_VAR_HEARTBEAT, &v));
			must(v == number);
			must(until(heard[i].strobe == number));
			ck_assert_str_eq(heard[i].said, text);
		}
		all += !missed.count;
		storm_idset_clear(&missed);
		storm_outcome_clear(&out);
	}
	must(all && (lossy || all == times));
	for (uint32_t i = 0; i < NODES; i++)
		must(lossy || until(heard[i].strobes == times));
	must(!storm_strobe(domain, text, STORM_STROBE_MAX + 1));
	ck_assert_int_eq(storm_heartbeat(domain, &P, text, STORM_STROBE_MAX + 1,
					 NULL, &missed, NULL),
			 STORM_EINVAL);
	must(!storm_idset_add(&P, NODES, NODES));
	ck_assert_int_eq(storm_heartbeat(domain, &P, NULL, 0, NULL, &missed,
					 NULL),
			 STORM_EINVAL);
	storm_idset_clear(&P);
}
END_TEST

/* A missing node is named as missing, and delays no other node's answer. */
START_TEST(test_heartbeat_of_the_dead)
{
	uint32_t dead = (uint32_t) _i % NODES;
	struct storm_idset missed;
	struct storm_outcome out;

	nodes_seed(_i);
	set.heartbeat = HEARTBEAT;
	set.dead_timeout = DEAD;
	nodes_open();
	storm_node_destroy(host[dead]);
	host[dead] = NULL;
	must(storm_heartbeat(domain, NULL, "beat", 4, NULL, &missed, &out) !=
	     STORM_OK);
	must(out.nfaults == 1 && out.faults[0].node == dead);
	must(!storm_idset_has(&missed, dead));
	storm_idset_clear(&missed);
	storm_outcome_clear(&out);
	/* it is no longer a member, and receives no request */
	must(storm_heartbeat(domain, NULL, "beat", 4, NULL, &missed, &out) !=
	     STORM_ELOST);
	must(!out.nfaults);
	storm_idset_clear(&missed);
}
END_TEST

/* Each id is reported once, even if its report is repeated. */
static uint32_t told[3][64];

static void on_report(void *arg, const struct storm_report *rep)
{
	(void) arg;
	must(rep->kind == 2 && rep->code < 3);
	for (uint32_t k = 0; k < rep->ids.count; k++)
		for (uint32_t id = rep->ids.r[k].first;
		     id <= rep->ids.r[k].last; id++)
			__atomic_fetch_add(&told[rep->code][id], 1,
					   __ATOMIC_SEQ_CST);
}

static bool all_told(uint32_t times)
{
	for (uint32_t id = 0; id < 60; id++)
		if (__atomic_load_n(&told[id % 3][id], __ATOMIC_SEQ_CST) !=
		    times)
			return false;
	return true;
}

static void open_for_reports(void (*heard_by)(void *arg,
					      const struct storm_report *r))
{
	struct storm_domain_conf conf = {
		.nodes = list,
		.count = NODES,
		.set = set,
		.on_report = heard_by,
	};
	int err;

	domain = storm_domain_create(&conf, &err);
	must(domain && !storm_domain_open(domain) &&
	     !storm_domain_wait_open(domain, NULL));
	for (uint32_t i = 0; i < NODES; i++) {
		member[i] = storm_node_accept(host[i], true, PATIENCE);
		must(member[i]);
	}
}

static void hold_reports(void)
{
	for (uint32_t i = 0; i < NODES; i++)
		must(!storm_member_hold(member[i], STORM_MS / 2));
}

START_TEST(test_reports)
{
	nodes_seed(_i);
	open_for_reports(on_report);
	for (uint32_t id = 0; id < 60; id++) {
		struct storm_idset ids = some(id, id);

		must(!storm_member_report(member[id % NODES], 2, id % 3, &ids));
		if (!(id % 7))
			nodes_pass(STORM_MS);
		storm_idset_clear(&ids);
	}
	must(until(all_told(1)));
	nodes_pass(200 * STORM_MS);
	must(all_told(1));
}
END_TEST

static uint32_t heard_of;

static void on_one_report(void *arg, const struct storm_report *rep)
{
	(void) arg;
	__atomic_fetch_add(&heard_of, (uint32_t) storm_idset_size(&rep->ids),
			   __ATOMIC_SEQ_CST);
}

/* The ns from a report of one node alone until the owner has it. */
/* A domain whose members may report. */
static uint64_t one_report_takes(uint32_t node, uint32_t id)
{
	uint32_t before = __atomic_load_n(&heard_of, __ATOMIC_SEQ_CST);
	struct storm_idset ids = some(id, id);
	uint64_t begun = nodes_now();

	must(!storm_member_report(member[node], 1, 0, &ids));
	storm_idset_clear(&ids);
	must(until(__atomic_load_n(&heard_of, __ATOMIC_SEQ_CST) > before));
	return nodes_now() - begun;
}

/* A report waits for others as long as the nodes say, again and again.  Real time
 * also has a busy machine in it. */
START_TEST(test_hold)
{
	bool exact = world == WORLD_SIM;
	uint64_t took;

	nodes_seed(_i);
	open_for_reports(on_one_report);
	took = one_report_takes(NODES - 1, 1);
	must(took > 90 * STORM_MS);
	hold_reports();
	for (uint32_t id = 2; id < 12; id++) {
		took = one_report_takes(id % NODES, id);
		must(!exact || took < 10 * STORM_MS);
	}
	storm_domain_destroy(domain);
	domain = NULL;
	must(until(storm_member_hold(member[0], STORM_MS) == STORM_ECLOSED));
}
END_TEST

static uint32_t closes(uint32_t i)
{
	return __atomic_load_n(&heard[i].closes, __ATOMIC_ACQUIRE);
}

/* The end of a domain is told once, and after all that was signalled, whether the owner
 * closes it or the node ends. */
START_TEST(test_close_is_told)
{
	struct storm_target to = { .kind = STORM_TARGET_MEMORY,
				   .remote_event = 2 };

	nodes_open();
	for (uint32_t k = 0; k < 3; k++)
		must(by(NODES, NULL, &to, "x", 1) == STORM_DONE);
	for (uint32_t i = 0; i < NODES; i++)
		ck_assert_uint_eq(closes(i), 0);
	storm_node_destroy(host[4]);
	host[4] = NULL;
	ck_assert_uint_eq(closes(4), 1);
	storm_domain_destroy(domain);
	domain = NULL;
	for (uint32_t i = 0; i < NODES; i++) {
		must(until(closes(i) == 1));
		ck_assert_uint_eq(heard[i].count_at_close, 3);
	}
}
END_TEST

/* What nodes send in a domain in which nothing happens. */
static uint64_t quiet_datagrams(void)
{
	uint64_t before = nodes_sent();

	nodes_pass(5 * STORM_SEC);
	return nodes_sent() - before;
}

/* Ids that the owner lets go of before it has acknowledged them: nodes further down
 * the tree do not ask for that again and again. */
START_TEST(test_forgotten_is_quiet)
{
	bool exact = world == WORLD_SIM;
	uint64_t quiet;

	nodes_seed(_i);
	open_for_reports(on_one_report);
	hold_reports();
	nodes_pass(exact ? 10 * STORM_SEC : STORM_MS);
	quiet = exact ? quiet_datagrams() : 0;
	for (uint32_t id = 0; id < 3; id++) {
		struct storm_idset past = some(0, id);

		one_report_takes(NODES - 1, id);
		must(!storm_domain_forget(domain, 1, &past));
		/* as with a run: only some nodes hear of it */
		must(!storm_member_forget(member[1], 1, &past));
		storm_idset_clear(&past);
	}
	nodes_pass(exact ? 10 * STORM_SEC : STORM_MS);
	if (exact)
		ck_assert_uint_le(quiet_datagrams(), quiet + 5);
	storm_domain_destroy(domain);
	domain = NULL;
}
END_TEST

/* One task goes on, and short ones come and go on all nodes: the reports of the last
 * ones need no more datagrams than those of the first. */
START_TEST(test_one_stays)
{
	enum { LONG = 0, SOME = 100 };
	bool exact = world == WORLD_SIM;
	uint32_t last = exact ? 2000 : 40;
	uint64_t first = 0, before;

	nodes_seed(_i);
	open_for_reports(on_one_report);
	hold_reports();
	before = nodes_sent();
	for (uint32_t id = LONG + 1; id <= last; id++) {
		struct storm_idset past = some(LONG + 1, id);

		one_report_takes(id % NODES, id);
		must(!storm_domain_forget(domain, 1, &past));
		for (uint32_t i = 0; i < NODES; i++)
			must(!storm_member_forget(member[i], 1, &past));
		storm_idset_clear(&past);
		if (id == SOME)
			first = nodes_sent() - before;
		if (id == last - SOME)
			before = nodes_sent();
	}
	if (exact)
		ck_assert_uint_le(nodes_sent() - before, first + first / 2);
	one_report_takes(NODES - 1, LONG);
	storm_domain_destroy(domain);
	domain = NULL;
}
END_TEST

/* ------------------------------------------------------------------- failures --- */

static uint32_t lost, blamed;

static void on_fault(void *arg, const struct storm_fault *f)
{
	(void) arg;
	__atomic_store_n(&blamed, f->node, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&lost, 1, __ATOMIC_SEQ_CST);
}

/* A node fails while a file is sent. It is reported once, the others agree on
 * the file, and the domain continues without it. */
START_TEST(test_node_dies)
{
	struct storm_target to = { .kind = STORM_TARGET_FILE,
				   .path = "/f",
				   .mode = 0600 };
	uint32_t dead = (uint32_t) _i % NODES, n = 0;
	static uint8_t data[300000];
	struct storm_outcome out;
	struct storm_domain_conf conf;
	enum storm_state state;
	storm_event_t *e;
	int err;

	nodes_seed(_i);
	set.heartbeat = HEARTBEAT;
	set.dead_timeout = DEAD;
	conf = (struct storm_domain_conf) {
		.nodes = list, .count = NODES, .set = set, .on_fault = on_fault
	};
	domain = storm_domain_create(&conf, &err);
	must(domain && !storm_domain_open(domain) &&
	     !storm_domain_wait_open(domain, NULL));
	e = storm_xfer_and_signal(domain, NULL, &to, data, sizeof(data));
	must(e);
	nodes_pass((uint64_t) _i * STORM_MS / 3);
	storm_node_destroy(host[dead]);
	host[dead] = NULL;
	must(storm_test_event(e, true, PATIENCE, &out));
	state = out.state;
	must(state == STORM_DONE || state == STORM_ABORTED);
	for (uint32_t k = 0; k < out.nfaults; k++)
		must(out.faults[k].node == dead);
	must(state == STORM_DONE || out.nfaults == 1);
	storm_outcome_clear(&out);
	storm_event_destroy(e);
	must(until(__atomic_load_n(&lost, __ATOMIC_SEQ_CST)));
	must(blamed == dead);
	to.path = "/g";
	must(transfer(NULL, &to, "x", 1, NULL) == STORM_DONE);
	for (uint32_t i = 0; i < NODES; i++)
		n += i != dead && files(i) == 2;
	must(n == (state == STORM_DONE ? NODES - 1 : 0));
	must(storm_compare_and_write(domain, NULL, STORM_VAR_USER, STORM_EQ, 0,
				     NULL, NULL) == STORM_TRUE);
	{
		struct storm_idset P = some(dead, dead);

		must(storm_compare_and_write(domain, &P, STORM_VAR_USER,
					     STORM_EQ, 0, NULL,
					     &out) == STORM_FAILED);
		must(out.nfaults == 1 && out.faults[0].node == dead);
		storm_outcome_clear(&out);
		storm_idset_clear(&P);
	}
	must(lost == 1);
}
END_TEST

/* The owner ends with operations under way. Each is shown by all nodes or by
 * none, as its event reports, and the nodes accept the next owner. */
START_TEST(test_owner_ends)
{
	struct storm_target to = { .kind = STORM_TARGET_SEGMENT,
				   .segment = 3,
				   .remote_event = 3 };
	struct storm_outcome out;
	storm_event_t *e[2];

	nodes_seed(_i);
	nodes_open();
	for (uint32_t k = 0; k < 2; k++) {
		to.offset = 8 * k;
		e[k] = storm_xfer_and_signal(domain, NULL, &to, "shown", 5);
		must(e[k]);
	}
	nodes_pass((uint64_t) _i * 100 * STORM_US);
	storm_domain_destroy(domain);
	domain = NULL;
	for (uint32_t i = 0; i < NODES; i++)
		must(until(storm_member_own_set(member[i], STORM_VAR_USER, 1) ==
			   STORM_ECLOSED));
	for (uint32_t k = 0; k < 2; k++) {
		uint32_t n = 0;

		must(storm_test_event(e[k], true, PATIENCE, &out));
		for (uint32_t i = 0; i < NODES; i++)
			n += !memcmp(memory[i] + 8 * k, "shown", 5);
		must(out.state != STORM_DONE || n == NODES);
		must(out.state != STORM_ABORTED || n == 0);
		storm_outcome_clear(&out);
		storm_event_destroy(e[k]);
	}
	for (uint32_t i = 0; i < NODES; i++) {
		storm_member_release(member[i]);
		member[i] = NULL;
	}
	nodes_open();
	to.offset = 100;
	must(transfer(NULL, &to, "again", 5, NULL) == STORM_DONE);
	for (uint32_t i = 0; i < NODES; i++)
		must(!memcmp(memory[i] + 100, "again", 5));
}
END_TEST

/* --------------------------------------------------------- the cluster domain --- */

/* Where its owners keep epochs, each with its own place for reports. */
static struct {
	pthread_mutex_t lock;
	uint32_t epoch;
	struct storm_idset excluded;
} saved = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint32_t joined; /* the last node reported as back */

static int save(void *arg, uint32_t was, uint32_t epoch,
		const struct storm_idset *excluded)
{
	int rc = -1;

	(void) arg;
	pthread_mutex_lock(&saved.lock);
	if (saved.epoch == was) {
		saved.epoch = epoch;
		storm_idset_clear(&saved.excluded);
		for (uint32_t k = 0; k < excluded->count; k++)
			must(!storm_idset_add(&saved.excluded,
					      excluded->r[k].first,
					      excluded->r[k].last));
		rc = 0;
	}
	pthread_mutex_unlock(&saved.lock);
	return rc;
}

static void on_joined(void *arg, uint32_t i)
{
	(void) arg;
	__atomic_store_n(&joined, i, __ATOMIC_SEQ_CST);
}

static storm_domain_t *next_owner(void)
{
	struct storm_domain_conf conf = {
		.nodes = list,
		.count = NODES,
		.set = set,
		.cluster = 7,
		.epoch = saved.epoch,
		.excluded = &saved.excluded,
		.save = save,
		.on_fault = on_fault,
		.on_joined = on_joined,
	};
	int err;
	storm_domain_t *d = storm_domain_create(&conf, &err);

	must(d && !storm_domain_open(d) && !storm_domain_wait_open(d, NULL));
	return d;
}

static void found(void)
{
	joined = UINT32_MAX;
	set.heartbeat = HEARTBEAT;
	set.dead_timeout = DEAD;
	domain = next_owner();
	for (uint32_t i = 0; i < NODES; i++) {
		member[i] = storm_node_accept(host[i], true, PATIENCE);
		must(member[i]);
	}
}

/* The owner fails during an operation. The next owner finds its state, and the
 * operation ends in the same way on all nodes. */
START_TEST(test_take_over)
{
	struct storm_target to = { .kind = STORM_TARGET_SEGMENT,
				   .segment = 3,
				   .remote_event = 3 };
	struct storm_assign w = { STORM_GLOBAL(1), 42 };
	struct storm_outcome out;
	uint32_t n = 0;
	storm_event_t *e;
	uint64_t v;

	nodes_seed(_i);
	found();
	for (uint32_t i = 0; i < NODES; i++)
		must(!storm_member_own_set(member[i], STORM_VAR_USER, 5));
	must(storm_compare_and_write(domain, NULL, STORM_VAR_USER, STORM_EQ, 5,
				     &w, NULL) == STORM_TRUE);
	e = storm_xfer_and_signal(domain, NULL, &to, "shown", 5);
	must(e);
	nodes_pass((uint64_t) _i * 60 * STORM_US);
	storm_domain_destroy(domain);
	must(storm_test_event(e, false, 0, &out));
	storm_event_destroy(e);

	domain = next_owner();
	must(!storm_idset_size(&saved.excluded));
	to.offset = 100;
	to.remote_event = 4;
	must(transfer(NULL, &to, "again", 5, NULL) == STORM_DONE);
	for (uint32_t i = 0; i < NODES; i++) {
		must(!storm_member_test_event(member[i], 4, true, PATIENCE));
		must(!storm_member_variable(member[i], w.var, &v) && v == 42);
		must(!storm_member_variable(member[i], STORM_VAR_USER, &v) &&
		     v == 5);
		if (!memcmp(memory[i], "shown", 5)) {
			n++;
			must(!storm_member_test_event(member[i], 3, false, 0));
		}
		ck_assert_int_eq(storm_member_test_event(member[i], 3, false,
							 0),
				 STORM_ETIME);
	}
	must(n == 0 || n == NODES);
	must(out.state != STORM_DONE || n);
	must(out.state != STORM_ABORTED || !n);
	storm_outcome_clear(&out);
	must(storm_compare_and_write(domain, NULL, w.var, STORM_EQ, 42, NULL,
				     NULL) == STORM_TRUE);
}
END_TEST

/* Two processes act as the owner: the older one makes no more decisions. */
START_TEST(test_superseded)
{
	struct storm_target to = { .kind = STORM_TARGET_SEGMENT, .segment = 3 };
	struct storm_outcome out;
	storm_domain_t *old;
	storm_event_t *e;

	nodes_seed(_i);
	found();
	old = domain;
	domain = next_owner();
	e = storm_xfer_and_signal(old, NULL, &to, "old", 3);
	if (e) {
		must(storm_test_event(e, true, PATIENCE, &out));
		must(out.state != STORM_DONE);
		storm_outcome_clear(&out);
		storm_event_destroy(e);
	}
	must(storm_compare_and_write(old, NULL, STORM_VAR_USER, STORM_EQ, 0,
				     NULL, NULL) == STORM_FAILED);
	to.offset = 10;
	must(transfer(NULL, &to, "new", 3, NULL) == STORM_DONE);
	storm_domain_destroy(old);
	must(transfer(NULL, &to, "new", 3, NULL) == STORM_DONE);
	for (uint32_t i = 0; i < NODES; i++) {
		must(!memory[i][0]);
		must(!memcmp(memory[i] + 10, "new", 3));
	}
}
END_TEST

/* One may be lost, and the next one is not. */
static void strobe_comes(uint64_t above, const char *text)
{
	for (uint32_t i = 0; i < NODES; i++)
		while (heard[i].strobe < above) {
			must(storm_strobe(domain, text, strlen(text)) >= above);
			nodes_pass(20 * STORM_MS);
		}
}

/* After a pause, an owner checks whether it still owns the domain. If so, it
 * continues in a new epoch, otherwise it sends nothing. */
START_TEST(test_confirm)
{
	uint32_t epoch;
	uint64_t last;
	storm_domain_t *old = nodes_domain();

	nodes_seed(_i);
	ck_assert_int_eq(storm_domain_confirm(old), STORM_ECLOSED);
	storm_domain_destroy(old);
	found();
	epoch = saved.epoch;
	last = storm_strobe(domain, "before", 6);
	must(last);
	ck_assert_int_eq(storm_domain_confirm(domain), STORM_OK);
	must(saved.epoch == epoch + 1 && !storm_idset_size(&saved.excluded));
	must(last >> 32 == epoch);
	last = (uint64_t) saved.epoch << 32;
	strobe_comes(last, "after");
	must(storm_compare_and_write(domain, NULL, STORM_VAR_HEARTBEAT,
				     STORM_GE, last, NULL, NULL) == STORM_TRUE);

	old = domain;
	domain = next_owner();
	epoch = saved.epoch;
	ck_assert_int_eq(storm_domain_confirm(old), STORM_ESUPERSEDED);
	ck_assert_int_eq(storm_domain_confirm(old), STORM_ESUPERSEDED);
	must(saved.epoch == epoch && !storm_strobe(old, "old", 3));
	strobe_comes((uint64_t) epoch << 32, "new");
	for (uint32_t i = 0; i < NODES; i++)
		must(until(!strcmp(heard[i].said, "new")));
	storm_domain_destroy(old);
}
END_TEST

/* A node that restarts has no state: it is excluded, joins, and is a member
 * like the others. */
START_TEST(test_join)
{
	struct storm_target to = { .kind = STORM_TARGET_SEGMENT,
				   .segment = 3,
				   .remote_event = 2 };
	struct storm_assign w = { STORM_GLOBAL(1), 42 };
	uint32_t back = (uint32_t) _i % NODES;
	uint64_t v;

	nodes_seed(_i);
	found();
	must(transfer(NULL, &to, "before", 6, NULL) == STORM_DONE);
	must(storm_compare_and_write(domain, NULL, w.var, STORM_EQ, 0, &w,
				     NULL) == STORM_TRUE);
	storm_node_destroy(host[back]);
	storm_member_release(member[back]);
	host[back] = NULL;
	member[back] = NULL;
	memset(memory[back], 0, SIZE);
	must(until(__atomic_load_n(&lost, __ATOMIC_SEQ_CST)));
	must(blamed == back);
	w.value = 43;
	must(storm_compare_and_write(domain, NULL, w.var, STORM_EQ, 42, &w,
				     NULL) == STORM_TRUE);
	nodes_start(back);
	must(until(__atomic_load_n(&joined, __ATOMIC_SEQ_CST) == back));
	member[back] = storm_node_accept(host[back], true, PATIENCE);
	must(member[back]);
	must(!storm_member_variable(member[back], w.var, &v) && v == 0);
	to.offset = 100;
	must(transfer(NULL, &to, "after", 5, NULL) == STORM_DONE);
	for (uint32_t i = 0; i < NODES; i++) {
		must(!memcmp(memory[i] + 100, "after", 5));
		must(i == back || !memcmp(memory[i], "before", 6));
	}
	must(storm_compare_and_write(domain, NULL, w.var, STORM_EQ, 43, NULL,
				     NULL) == STORM_FALSE);
}
END_TEST

/* --------------------------------------------------------------------- gather --- */

static const struct storm_gather_entry *entry_of(const struct storm_gathered *t,
						 enum storm_gather_kind kind,
						 const char *key,
						 const char *value)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const struct storm_gather_entry *e = &t->entry[i];

		if (e->kind == kind && e->key_len == strlen(key) &&
		    !memcmp(e->key, key, e->key_len) &&
		    e->value_len == strlen(value) &&
		    !memcmp(e->value, value, e->value_len))
			return e;
	}
	return NULL;
}

/* All of P that are there, each once. */
static void is_gathered(const struct storm_gathered *t,
			const struct storm_idset *P,
			const struct storm_idset *missing)
{
	uint64_t sum = 0;
	uint32_t n = 0, max = 0;

	for (uint32_t i = 0; i < NODES; i++) {
		const struct storm_gather_entry *e = entry_of(
			t, STORM_GATHER_VALUE, "what", i % 3 ? "1.1" : "1.0");
		bool there = (!P || storm_idset_has(P, i)) &&
			     !(missing && storm_idset_has(missing, i));

		ck_assert_int_eq(there, e && storm_idset_has(&e->nodes, i));
		if (!there)
			continue;
		sum += i;
		n++;
		max = i;
	}
	for (uint32_t i = 0; i < t->count; i++) {
		const struct storm_gather_entry *e = &t->entry[i];

		must(e->kind != STORM_GATHER_COUNTER ||
		     (e->sum == sum && e->count == n && e->max == max &&
		      e->max_node == max));
	}
	must(n == 0 || entry_of(t, STORM_GATHER_COUNTER, "number", ""));
}

static void gather(const struct storm_idset *P,
		   const struct storm_idset *missing, uint64_t deadline)
{
	storm_event_t *e = storm_gather(domain, P, "what", 4, deadline);
	struct storm_outcome out;
	struct storm_gathered t;

	must(e && storm_test_event(e, true, PATIENCE, &out));
	must(out.state == STORM_DONE);
	must(out.nfaults == (missing ? storm_idset_size(missing) : 0));
	for (uint32_t i = 0; i < out.faults_kept; i++)
		must(storm_idset_has(missing, out.faults[i].node));
	must(!storm_event_gathered(e, &t));
	is_gathered(&t, P, missing);
	storm_gathered_clear(&t);
	must(storm_event_gathered(e, &t) == STORM_ENOENT);
	storm_outcome_clear(&out);
	storm_event_destroy(e);
}

/* Beside other operations, and several at a time. */
START_TEST(test_gather)
{
	struct storm_target to = { .kind = STORM_TARGET_SEGMENT, .segment = 3 };
	static const uint8_t query[STORM_GATHER_QUERY + 1];
	struct rnd r = rnd_of(_i);
	storm_event_t *e[4], *x;

	nodes_seed(_i);
	must(!(domain = nodes_domain()) ||
	     !storm_gather(domain, NULL, "what", 4, 0));
	storm_domain_destroy(domain);
	nodes_open();
	for (int k = 0; k < 6; k++) {
		struct storm_idset P = random_set(&r);

		gather(below(&r, 2) ? &P : NULL, NULL, 0);
		storm_idset_clear(&P);
		gather(NULL, NULL, PATIENCE);
	}
	must(!storm_gather(domain, NULL, query, sizeof(query), 0));
	x = storm_xfer_and_signal(domain, NULL, &to, "shown", 5);
	for (int k = 0; k < 4; k++)
		must((e[k] = storm_gather(domain, NULL, "what", 4, 0)));
	storm_event_destroy(e[1]); /* nobody waits for it any more */
	must(storm_event_cancel(e[2]) || e[2]);
	for (int k = 0; k < 4; k++) {
		struct storm_outcome out;
		struct storm_gathered t;

		if (k == 1)
			continue;
		must(storm_test_event(e[k], true, PATIENCE, &out));
		must(k == 2 || out.state == STORM_DONE);
		must(storm_event_gathered(e[k], &t) ==
		     (out.state == STORM_DONE ? STORM_OK : STORM_ENOENT));
		if (out.state == STORM_DONE) {
			is_gathered(&t, NULL, NULL);
			storm_gathered_clear(&t);
		}
		storm_outcome_clear(&out);
		storm_event_destroy(e[k]);
	}
	must(x && storm_test_event(x, true, PATIENCE, NULL));
	storm_event_destroy(x);
}
END_TEST

/* A node that is dead is missing, and what is pending ends with the domain. */
START_TEST(test_gather_of_the_dead)
{
	struct storm_idset dead = some((uint32_t) _i, (uint32_t) _i);
	struct storm_outcome out;
	struct storm_gathered t;
	storm_event_t *e;

	nodes_seed(_i);
	set.dead_timeout = 30 * STORM_SEC;
	nodes_open();
	storm_node_destroy(host[_i]);
	host[_i] = NULL;
	gather(NULL, &dead, nodes_now() + STORM_SEC * unit_slower());
	must((e = storm_gather(domain, NULL, "what", 4, 0)));
	storm_domain_destroy(domain);
	domain = NULL;
	must(storm_test_event(e, false, 0, &out) && out.state == STORM_ABORTED);
	must(storm_event_gathered(e, &t) == STORM_ENOENT);
	storm_event_destroy(e);
	storm_outcome_clear(&out);
	storm_idset_clear(&dead);
}
END_TEST

/* ----------------------------------------------------------------- the suite --- */

/* Nothing of the test before, were it in the same process. */
static void begin(enum world w)
{
	world = w;
	memset(model, 0, sizeof(model));
	memset(told, 0, sizeof(told));
	lost = blamed = 0;
	saved.epoch = 0;
	storm_idset_clear(&saved.excluded);
	nodes_setup();
}

static void in_udp(void)
{
	begin(WORLD_UDP);
}

static void in_udp_loss(void)
{
	begin(WORLD_UDP_LOSS);
}

static void in_verbs(void)
{
	begin(WORLD_VERBS);
}

static void in_verbs_loss(void)
{
	begin(WORLD_VERBS_LOSS);
}

static void in_verbs_chain(void)
{
	begin(WORLD_VERBS_CHAIN);
}

static void in_sim(void)
{
	begin(WORLD_SIM);
}

static void in_sim_loss(void)
{
	begin(WORLD_SIM_LOSS);
}

static void in_sim_chain(void)
{
	begin(WORLD_SIM_CHAIN);
}

/* Several machines may share a case: STORM_PART=1/3 is the second of three parts
 * of it. */
static bool is_ours(void)
{
	static unsigned int count;
	const char *text = getenv("STORM_PART");
	unsigned int part, of;

	return !text || sscanf(text, "%u/%u", &part, &of) != 2 || !of ||
	       count++ % of == part;
}

/* In an emulated machine each takes seconds: STORM_SEEDS=1 is the first of them. */
static int seeds(int n)
{
	const char *most = getenv("STORM_SEEDS");

	return most && atoi(most) < n ? atoi(most) : n;
}

#define add(t, test, from, to)                                          \
	do {                                                            \
		if (is_ours())                                          \
			tcase_add_loop_test(t, test, from, (int) (to)); \
	} while (0)

/* In real time a lost datagram is a tenth of a second; simulated, it is nothing. */
static void world_case(Suite *s, const char *name, void (*setup)(void), int n)
{
	TCase *t = tcase_create(name);

	tcase_add_checked_fixture(t, setup, nodes_teardown);
	add(t, test_one_memory, 0, unit_runs(n));
	add(t, test_order, 0, unit_runs(n));
	add(t, test_cancel, 0, unit_runs(n));
	add(t, test_files, 0, sizeof(sizes) / sizeof(*sizes));
	add(t, test_all_or_nothing, 0, seeds(NODES));
	add(t, test_called_off, 0, seeds(4 * n));
	add(t, test_deadline, 0, 1);
	add(t, test_queue, 0, seeds(2 * n));
	add(t, test_termination, 0, unit_runs(n));
	add(t, test_heartbeat, 0, unit_runs(n));
	add(t, test_heartbeat_of_the_dead, 0, seeds(NODES));
	add(t, test_reports, 0, unit_runs(n));
	add(t, test_hold, 0, seeds(n));
	add(t, test_close_is_told, 0, seeds(n));
	add(t, test_gather, 0, unit_runs(n));
	add(t, test_gather_of_the_dead, 0, seeds(3));
	add(t, test_forgotten_is_quiet, 0, seeds(n));
	add(t, test_one_stays, 0, 1);
	add(t, test_node_dies, 0, seeds(3 * n));
	add(t, test_owner_ends, 0, seeds(4 * n));
	add(t, test_take_over, 0, seeds(4 * n));
	add(t, test_superseded, 0, unit_runs(n));
	add(t, test_confirm, 0, unit_runs(n));
	add(t, test_join, 0, n);
	suite_add_tcase(s, t);
}

int main(void)
{
	Suite *s = suite_create("conformance");

	if (nodes_device()) {
		world_case(s, "verbs", in_verbs, 1);
		world_case(s, "verbs, three in a hundred lost", in_verbs_loss,
			   1);
		world_case(s, "verbs, along the chain", in_verbs_chain, 1);
		return nodes_main(s);
	}
	world_case(s, "udp", in_udp, 1);
	world_case(s, "udp, three in a hundred lost", in_udp_loss, 1);
	world_case(s, "sim", in_sim, 5);
	world_case(s, "sim, lost, doubled and late", in_sim_loss, 5);
	world_case(s, "sim, likewise along the chain", in_sim_chain, 5);
	return nodes_main(s);
}
