/*
 * test_sim.c - the protocol under seeded faults.  Each schedule opens a
 * domain, moves files and messages, lets nodes report, and is then judged:
 * what is DONE is shown whole by everyone who was not named, what is ABORTED
 * by no one, events come once and with their data, every report arrives and is
 * acknowledged, whoever is named was faulted, and no temporary is left.  Every
 * fourth one has its fault before OPEN: it must fail, and name who is to blame.
 * Two domains have nothing to do for long, and one loses an inner node before
 * it is given up.
 *
 * usage: test_sim [SCHEDULES [FIRST-SEED]]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "idset.h"
#include "sim.h"
#include "wire.h"

#define FILE_EVENT 0
#define MESSAGE 7
#define TASKS 2			/* per node */
#define EXITED 3

enum fault_kind { NONE, LOSS, LOSS_HEAVY, NO_MULTICAST, PAUSE, CRASH, DISK,
		  CRASH_LATE, KINDS };

struct run {
	struct storm_sim *sim;
	uint64_t seed, random;
	enum fault_kind kind;
	bool opened, open_ok;
	int why, sys;			/* of the last one named at OPEN */
	struct storm_outcome out[3];
	uint32_t done, want;
	bool compared;
	enum storm_compare compare;
	struct storm_idset exited[2];	/* heard, by code */
	struct storm_idset named;	/* faults told */
	struct storm_idset faulted;	/* by us */
};

static uint64_t chance(struct run *r)
{
	uint64_t z = r->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

#define CHECK(cond, ...) do {						\
	if (!(cond)) {							\
		fprintf(stderr, "seed %llu, fault %d: %s: ",		\
			(unsigned long long) r->seed, (int) r->kind,	\
			#cond);						\
		fprintf(stderr, __VA_ARGS__);				\
		fputc('\n', stderr);					\
		exit(1);						\
	}								\
} while (0)

static void on_opened(void *arg, struct storm_outcome *out)
{
	struct run *r = arg;

	r->opened = true;
	r->open_ok = out->state == STORM_DONE;
	for (uint32_t i = 0; i < out->faults_kept; i++) {
		storm_idset_add(&r->named, out->faults[i].node,
				out->faults[i].node);
		r->why = (int) out->faults[i].why;
		r->sys = out->faults[i].sys;
	}
	storm_outcome_clear(out);
}

static void on_done(void *arg, void *token, struct storm_outcome *out)
{
	struct run *r = arg;
	struct storm_outcome *mine = token;

	CHECK(mine->state == STORM_PENDING, "ended twice");
	*mine = *out;
	r->done++;
}

static void on_compared(void *arg, void *token, enum storm_compare result,
			struct storm_outcome *out)
{
	struct run *r = arg;

	(void) token;
	r->compared = true;
	r->compare = result;
	storm_outcome_clear(out);
}

static void on_report(void *arg, const struct storm_report *rep)
{
	struct run *r = arg;

	CHECK(rep->kind == EXITED && rep->code < 2, "kind %u", rep->kind);
	for (uint32_t i = 0; i < rep->ids.count; i++)
		for (uint32_t k = rep->ids.r[i].first; k <= rep->ids.r[i].last;
		     k++) {
			CHECK(!storm_idset_has(&r->exited[rep->code], k),
			      "task %u told twice", k);
			storm_idset_add(&r->exited[rep->code], k, k);
		}
}

static void on_fault(void *arg, const struct storm_fault *f)
{
	struct run *r = arg;

	storm_idset_add(&r->named, f->node, f->node);
}

static const struct storm_owner_ops ops = {
	.opened = on_opened, .xfer_done = on_done,
	.compare_done = on_compared, .report = on_report, .fault = on_fault,
};

static bool is_opened(void *arg) { return ((struct run *) arg)->opened; }
static bool is_done(void *arg)
{
	struct run *r = arg;

	return r->done >= r->want;
}
static bool is_compared(void *arg) { return ((struct run *) arg)->compared; }

static void crash(struct run *r, uint32_t victim)
{
	storm_sim_crash(r->sim, victim);
	storm_idset_add(&r->faulted, victim, victim);
	if (chance(r) % 2)
		storm_sim_restart(r->sim, victim);
}

static void inject(struct run *r, uint32_t nodes)
{
	uint32_t victim = (uint32_t) (chance(r) % nodes);

	/* at some moment of what follows */
	storm_sim_run(r->sim, chance(r) % (12 * STORM_MS), NULL, NULL);
	switch (r->kind) {
	case PAUSE:
		storm_sim_pause(r->sim, victim, chance(r) % (3 * STORM_SEC));
		break;
	case CRASH:
		crash(r, victim);
		break;
	case DISK:
		storm_sim_disk(r->sim, victim, ENOSPC);
		storm_idset_add(&r->faulted, victim, victim);
		break;
	default:
		break;
	}
}

static void judge_file(struct run *r, const struct storm_outcome *out,
		       const char *path, const uint8_t *data, uint64_t size,
		       uint32_t nodes)
{
	CHECK(out->state == STORM_DONE || out->state == STORM_ABORTED,
	      "%s: state %d", path, out->state);
	for (uint32_t i = 0; i < out->faults_kept; i++)
		CHECK(storm_idset_has(&r->faulted, out->faults[i].node),
		      "%s: n%u named (%s), but never faulted", path,
		      out->faults[i].node + 1,
		      storm_strerror(out->faults[i].why));
	if (out->state == STORM_ABORTED)
		CHECK(out->faults_kept, "%s: aborted, nobody named", path);
	for (uint32_t i = 0; i < nodes; i++) {
		uint32_t n, shown = 0;
		const struct storm_sim_file *f = storm_sim_files(r->sim, i, &n);

		for (uint32_t k = 0; k < n; k++) {
			if (strcmp(f[k].path, path))
				continue;
			shown++;
			CHECK(f[k].size == size && !memcmp(f[k].data, data, size),
			      "%s differs on n%u", path, i + 1);
		}
		CHECK(shown <= 1, "%s: shown %u times", path, shown);
		if (out->state == STORM_ABORTED)
			CHECK(!shown, "%s: aborted, but n%u shows it", path,
			      i + 1);
		else if (!storm_idset_has(&r->faulted, i))
			CHECK(shown, "%s: done, but not on n%u", path, i + 1);
	}
}

/* Whoever sends a file thinks better of it, and takes the buffer away: all
 * show the file, or none does. */
static void give_up(struct run *r, const uint8_t *data, uint64_t size,
		    uint32_t nodes)
{
	struct storm_target to = { .kind = STORM_TARGET_FILE,
				   .path = "/tmp/given-up" };
	struct storm_outcome out = { 0 };
	uint8_t *copy = malloc(size + 1);
	uint32_t shown = 0, others = 0, done = r->done;

	memcpy(copy, data, size);
	storm_owner_xfer(storm_sim_owner(r->sim), NULL, &to, copy, size, &out,
			 storm_sim_now(r->sim));
	if (chance(r) % 4)
		storm_sim_run(r->sim, chance(r) % (15 * STORM_MS), NULL, NULL);
	storm_owner_forget(storm_sim_owner(r->sim), &out,
			   storm_sim_now(r->sim));
	free(copy);
	/* it takes its time to go, or to be shown */
	storm_sim_run(r->sim, 30 * STORM_SEC, NULL, NULL);
	CHECK(out.state == STORM_PENDING ? r->done == done :
	      r->done == done + 1, "ended and forgotten");
	for (uint32_t i = 0; i < nodes; i++) {
		uint32_t n, here = 0;
		const struct storm_sim_file *f = storm_sim_files(r->sim, i, &n);

		for (uint32_t k = 0; k < n; k++) {
			if (strcmp(f[k].path, to.path))
				continue;
			here++;
			CHECK(f[k].size == size && !memcmp(f[k].data, data, size),
			      "%s differs on n%u", to.path, i + 1);
		}
		if (!storm_idset_has(&r->faulted, i))
			*(here ? &shown : &others) += 1;
		CHECK(here <= 1, "%s: shown %u times", to.path, here);
	}
	CHECK(!shown || !others, "%s: %u nodes show it, %u do not", to.path,
	      shown, others);
	CHECK(out.state != STORM_DONE || !others, "done, but not everywhere");
	storm_outcome_clear(&out);
	r->done = done;
}

/* Ordered comparisons over node sets, with writes, against copies in one memory
 * here. */
static void ordered(struct run *r, uint32_t nodes)
{
	uint64_t (*copy)[2] = calloc(nodes, sizeof(*copy));

	for (int k = 0; k < 6; k++) {
		uint32_t first = (uint32_t) (chance(r) % nodes);
		uint32_t last = (uint32_t) (first + chance(r) % (nodes - first));
		struct storm_range range = { first, last };
		struct storm_idset P = { &range, 1, 1 };
		uint32_t var = (uint32_t) (chance(r) % 2);
		enum storm_relation rel = (enum storm_relation) (chance(r) % 4);
		uint64_t value = chance(r) % 2;
		struct storm_assign w = { STORM_GLOBAL(chance(r) % 2),
					  chance(r) % 3 };
		bool all = true;
		int err;

		for (uint32_t i = first; i <= last; i++) {
			uint64_t v = copy[i][var];

			all &= rel == STORM_GE ? v >= value :
			       rel == STORM_LT ? v < value :
			       rel == STORM_EQ ? v == value : v != value;
		}
		r->compared = false;
		err = storm_owner_compare(storm_sim_owner(r->sim), &P,
					  STORM_GLOBAL(var), rel, value, &w, r,
					  storm_sim_now(r->sim));
		CHECK(!err, "compare: %s", storm_strerror(err));
		CHECK(storm_sim_run(r->sim, 60 * STORM_SEC, is_compared, r),
		      "ordered comparison never ended");
		CHECK(r->compare == (all ? STORM_TRUE : STORM_FALSE),
		      "ordered comparison says %d", r->compare);
		for (uint32_t i = first; all && i <= last; i++)
			copy[i][w.var - STORM_GLOBAL(0)] = w.value;
		for (uint32_t i = 0; i < nodes; i++) {
			uint64_t v = 0;

			for (uint32_t g = 0; g < 2; g++)
				CHECK(!storm_nm_variable(storm_sim_nm(r->sim, i),
						storm_sim_session(r->sim, i),
						STORM_GLOBAL(g), &v) &&
				      v == copy[i][g], "n%u has %llu", i + 1,
				      (unsigned long long) v);
		}
	}
	free(copy);
}

static bool all_acked(struct run *r, uint32_t nodes)
{
	for (uint32_t k = 0; k < nodes * TASKS; k++)
		if (!storm_idset_has(&r->named, k / TASKS) &&
		    !storm_idset_has(storm_sim_acked(r->sim, k / TASKS, EXITED),
				     k))
			return false;
	return true;
}

static void schedule(uint64_t seed)
{
	struct run run = { .seed = seed, .random = seed * 7919 + 1 }, *r = &run;
	struct storm_sim_conf c = { .seed = seed };
	uint64_t size, now;
	uint8_t *data;
	struct storm_target to = { .kind = STORM_TARGET_FILE, .path = "/tmp/app",
				   .mode = 0755 };
	struct storm_target msg = { .kind = STORM_TARGET_MEMORY,
				    .remote_event = MESSAGE };
	bool piggyback = chance(r) % 2;
	struct storm_stats stats;
	uint32_t crash_at;
	int err;

	c.nodes = (uint32_t) (chance(r) % 8 ? 2 + chance(r) % 40 :
					      2 + chance(r) % 255);
	storm_settings_default(&c.set);
	c.set.radix = (uint32_t) (2 + chance(r) % 8);
	c.set.window = 64 << 10;
	c.set.dead_timeout = 4 * STORM_SEC;
	c.set.heartbeat = STORM_SEC / 2;
	c.set.multicast = chance(r) % 4;
	c.set.group.ip[15] = (uint8_t) seed;
	c.latency = 20 * STORM_US + chance(r) % (300 * STORM_US);
	c.jitter = chance(r) % (500 * STORM_US);
	c.bandwidth = 125e6;
	c.disk_jitter = chance(r) % STORM_MS;
	c.multicast = true;
	c.mtu = 1472;
	run.kind = (enum fault_kind) (chance(r) % KINDS);
	if (run.kind == LOSS)
		c.loss_ppm = 50000;
	if (run.kind == LOSS_HEAVY)
		c.loss_ppm = 300000;
	if (run.kind == NO_MULTICAST)
		c.multicast = false;
	if (chance(r) % 3 == 0)
		c.dup_ppm = 30000;
	if (run.kind == PAUSE)
		c.set.dead_timeout = 10 * STORM_SEC;
	size = chance(r) % 10 ? chance(r) % 300000 : chance(r) % 3;
	data = malloc(size + 1);
	for (uint64_t i = 0; i < size; i++)
		data[i] = (uint8_t) chance(r);

	run.sim = storm_sim_create(&c, &ops, r);
	CHECK(run.sim, "no simulation");
	now = storm_sim_now(run.sim);
	if (piggyback)
		storm_owner_xfer(storm_sim_owner(run.sim), NULL, &to, data, size,
				 &run.out[0], now);
	err = storm_owner_open(storm_sim_owner(run.sim), now);
	CHECK(!err, "open: %s", storm_strerror(err));
	CHECK(storm_sim_run(run.sim, 20 * STORM_SEC, is_opened, r),
	      "OPEN never ended");
	CHECK(run.open_ok, "OPEN failed without a fault");
	storm_owner_stats(storm_sim_owner(run.sim), &stats);
	CHECK(c.loss_ppm || stats.multicast == (c.set.multicast && c.multicast),
	      "multicast: %d", stats.multicast);
	if (!piggyback)
		storm_owner_xfer(storm_sim_owner(run.sim), NULL, &to, data, size,
				 &run.out[0], storm_sim_now(run.sim));
	storm_owner_xfer(storm_sim_owner(run.sim), NULL, &msg, data,
			 size < 9000 ? size : 9000, &run.out[1],
			 storm_sim_now(run.sim));
	run.want = 2;
	inject(r, c.nodes);
	CHECK(storm_sim_run(run.sim, 120 * STORM_SEC, is_done, r),
	      "transfers never ended (kind %d, %u nodes)", run.kind, c.nodes);
	judge_file(r, &run.out[0], "/tmp/app", data, size, c.nodes);

	/* the message: once, whole, on all that are not named */
	for (uint32_t i = 0; i < c.nodes; i++) {
		uint32_t n;
		const struct storm_sim_seen *s = storm_sim_events(run.sim, i,
								  &n);
		size_t len = size < 9000 ? size : 9000;

		CHECK(n <= 1, "n%u saw the event %u times", i + 1, n);
		if (run.out[1].state == STORM_ABORTED)
			CHECK(!n, "aborted, but n%u saw the event", i + 1);
		else if (!storm_idset_has(&run.faulted, i))
			CHECK(n == 1, "n%u missed the event", i + 1);
		if (n)
			CHECK(s->event == MESSAGE && s->len == len &&
			      !memcmp(s->data, data, len),
			      "event of n%u has other data", i + 1);
	}

	if (chance(r) % 3 == 0)
		give_up(r, data, size, c.nodes);

	/* a second file once the fault is there: the domain goes on */
	run.want = 3;
	to.path = "/tmp/two";
	storm_owner_xfer(storm_sim_owner(run.sim), NULL, &to, data, size,
			 &run.out[2], storm_sim_now(run.sim));
	CHECK(storm_sim_run(run.sim, 120 * STORM_SEC, is_done, r),
	      "second transfer never ended");
	judge_file(r, &run.out[2], "/tmp/two", data, size, c.nodes);

	/* everybody's tasks end: each is told once, and acknowledged; a node
	 * may die with what others told it */
	crash_at = run.kind == CRASH_LATE ? (uint32_t) (chance(r) % c.nodes) :
					    c.nodes;
	for (uint32_t i = 0; i < c.nodes; i++) {
		struct storm_idset ids = { 0 };
		uint64_t s;

		if (i == crash_at) {	/* one that has children */
			storm_sim_run(run.sim, chance(r) % (300 * STORM_MS),
				      NULL, NULL);
			crash(r, (uint32_t) (chance(r) %
					     (c.nodes / c.set.radix + 1)));
		}
		s = storm_sim_session(run.sim, i);
		if (!s)
			continue;
		storm_idset_add(&ids, i * TASKS, i * TASKS + TASKS - 1);
		storm_nm_report(storm_sim_nm(run.sim, i), s, EXITED, i % 3 == 0,
				&ids, storm_sim_now(run.sim));
		storm_nm_own_set(storm_sim_nm(run.sim, i), s,
				 STORM_VAR_TERMINATED, 1);
		storm_idset_clear(&ids);
		storm_sim_run(run.sim, chance(r) % STORM_MS, NULL, NULL);
	}
	/* with a third of all datagrams lost, and a tall tree, it takes long */
	storm_sim_run(run.sim, 14 * STORM_SEC, NULL, NULL);
	for (int more = 0; more < 10 && !all_acked(r, c.nodes); more++)
		storm_sim_run(run.sim, 10 * STORM_SEC, NULL, NULL);
	for (uint32_t i = 0; i < c.nodes; i++) {
		bool lost = storm_idset_has(&run.named, i);

		if (lost)
			CHECK(storm_idset_has(&run.faulted, i),
			      "n%u excluded, but never faulted", i + 1);
		for (uint32_t k = i * TASKS; !lost && k < (i + 1) * TASKS; k++) {
			CHECK(storm_idset_has(&run.exited[i % 3 == 0], k),
			      "task %u of n%u never told (kind %d)", k, i + 1,
			      run.kind);
			CHECK(storm_idset_has(storm_sim_acked(run.sim, i,
							      EXITED), k),
			      "task %u of n%u never acknowledged", k, i + 1);
		}
	}

	if (!run.faulted.count && !run.named.count)
		ordered(r, c.nodes);

	/* termination, by COMPARE-AND-WRITE */
	run.compared = false;
	err = storm_owner_compare(storm_sim_owner(run.sim), NULL,
				  STORM_VAR_TERMINATED, STORM_GE, 1, NULL, r,
				  storm_sim_now(run.sim));
	CHECK(!err, "compare: %s", storm_strerror(err));
	CHECK(storm_sim_run(run.sim, 60 * STORM_SEC, is_compared, r),
	      "comparison never ended");
	CHECK(run.compare == STORM_TRUE, "comparison says %d", run.compare);

	storm_owner_close(storm_sim_owner(run.sim), storm_sim_now(run.sim));
	storm_sim_run(run.sim, 15 * STORM_SEC, NULL, NULL);
	for (uint32_t i = 0; i < c.nodes; i++) {
		CHECK(!storm_sim_temporaries(run.sim, i),
		      "n%u kept a temporary", i + 1);
		CHECK(!storm_sim_session(run.sim, i), "n%u kept the session",
		      i + 1);
	}
	for (int i = 0; i < 3; i++)
		storm_outcome_clear(&run.out[i]);
	storm_idset_clear(&run.exited[0]);
	storm_idset_clear(&run.exited[1]);
	storm_idset_clear(&run.named);
	storm_idset_clear(&run.faulted);
	storm_sim_destroy(run.sim);
	free(data);
}

/* One node cannot be opened, wherever it stands in the tree. */
static void refused(uint64_t seed)
{
	struct run run = { .seed = seed, .random = seed * 7919 + 1 }, *r = &run;
	struct storm_sim_conf c = { .seed = seed };
	bool version = chance(r) % 2;
	struct storm_target to = { .kind = STORM_TARGET_FILE, .path = "/tmp/app",
				   .mode = 0755 };
	uint32_t victim;

	c.nodes = (uint32_t) (1 + chance(r) % 100);
	victim = (uint32_t) (chance(r) % c.nodes);
	storm_settings_default(&c.set);
	c.set.radix = (uint32_t) (2 + chance(r) % 8);
	c.latency = 20 * STORM_US + chance(r) % (300 * STORM_US);
	c.jitter = chance(r) % (500 * STORM_US);
	c.multicast = chance(r) % 2;
	c.mtu = 1472;
	c.loss_ppm = chance(r) % 2 ? 50000 : 0;
	run.sim = storm_sim_create(&c, &ops, r);
	CHECK(run.sim, "no simulation");
	storm_idset_add(&run.faulted, victim, victim);
	if (version)
		storm_sim_foreign(run.sim, victim);
	else
		storm_sim_crash(run.sim, victim);
	storm_owner_xfer(storm_sim_owner(run.sim), NULL, &to, "x", 1, &run.out[0],
			 storm_sim_now(run.sim));
	CHECK(!storm_owner_open(storm_sim_owner(run.sim),
				storm_sim_now(run.sim)), "open");
	CHECK(storm_sim_run(run.sim, STORM_SEC, is_opened, r),
	      "OPEN never ended: n%u of %u, radix %u", victim + 1, c.nodes,
	      c.set.radix);
	CHECK(!run.open_ok, "OPEN went well without n%u", victim + 1);
	CHECK(storm_idset_size(&run.named) == 1 &&
	      storm_idset_has(&run.named, victim), "others are named than n%u",
	      victim + 1);
	CHECK(run.why == (version ? STORM_EVERSION : STORM_ENOAGENT) &&
	      run.sys == (version ? STORM_WIRE_VERSION + 1 : ECONNREFUSED),
	      "n%u: why %d, %d", victim + 1, run.why, run.sys);
	CHECK(run.done == 1 && run.out[0].state == STORM_ABORTED,
	      "the transfer of a domain that is none");
	storm_owner_close(storm_sim_owner(run.sim), storm_sim_now(run.sim));
	/* who is not yet let in, at a node, finds nobody waiting for it */
	storm_sim_run(run.sim, c.loss_ppm ? 15 * STORM_SEC : STORM_SEC, NULL,
		      NULL);
	for (uint32_t i = 0; i < c.nodes; i++) {
		uint32_t n;

		storm_sim_files(run.sim, i, &n);
		CHECK(!n && !storm_sim_temporaries(run.sim, i) &&
		      !storm_sim_session(run.sim, i), "n%u kept something",
		      i + 1);
	}
	storm_outcome_clear(&run.out[0]);
	storm_idset_clear(&run.named);
	storm_idset_clear(&run.faulted);
	storm_sim_destroy(run.sim);
}

/* An inner node dies after it has passed the OPEN on, and another cannot be
 * opened: those below the dead one hear of the end by multicast, at once. */
static void orphaned(void)
{
	struct run run = { 0 }, *r = &run;
	struct storm_sim_conf c = { .seed = 1, .nodes = 14, .mtu = 1472,
				    .latency = 50 * STORM_US,
				    .multicast = true };
	const uint32_t dead = 0, below = 2, last = 13;

	storm_settings_default(&c.set);
	c.set.radix = 2;
	run.sim = storm_sim_create(&c, &ops, r);
	CHECK(run.sim, "no simulation");
	storm_sim_foreign(run.sim, last);
	CHECK(!storm_owner_open(storm_sim_owner(run.sim),
				storm_sim_now(run.sim)), "open");
	while (!storm_sim_session(run.sim, below) && !run.opened)
		storm_sim_run(run.sim, 20 * STORM_US, NULL, NULL);
	storm_sim_crash(run.sim, dead);
	CHECK(storm_sim_run(run.sim, STORM_SEC, is_opened, r) && !run.open_ok,
	      "OPEN went well without n%u", last + 1);
	CHECK(storm_sim_session(run.sim, below), "n%u has no session",
	      below + 1);
	storm_owner_close(storm_sim_owner(run.sim), storm_sim_now(run.sim));
	storm_sim_run(run.sim, 10 * STORM_MS, NULL, NULL);
	for (uint32_t i = 0; i < c.nodes; i++)
		CHECK(!storm_sim_session(run.sim, i), "n%u keeps its session",
		      i + 1);
	storm_idset_clear(&run.named);
	storm_sim_destroy(run.sim);
}

/* Nothing happens for an hour, on a network that loses three datagrams in ten:
 * nobody takes anybody for dead. */
static void idle(bool multicast)
{
	struct run run = { .seed = multicast }, *r = &run;
	struct storm_sim_conf c = { .seed = 1, .nodes = 12, .mtu = 1472,
				    .loss_ppm = 300000,
				    .latency = 50 * STORM_US,
				    .multicast = multicast };

	storm_settings_default(&c.set);
	run.sim = storm_sim_create(&c, &ops, r);
	CHECK(run.sim, "no simulation");
	CHECK(!storm_owner_open(storm_sim_owner(run.sim),
				storm_sim_now(run.sim)), "open");
	CHECK(storm_sim_run(run.sim, 20 * STORM_SEC, is_opened, r) &&
	      run.open_ok, "OPEN failed");
	storm_sim_run(run.sim, 3600 * STORM_SEC, NULL, NULL);
	CHECK(!storm_idset_size(&run.named), "multicast %d", multicast);
	for (uint32_t i = 0; i < c.nodes; i++)
		CHECK(storm_sim_session(run.sim, i), "n%u closed its session",
		      i + 1);
	storm_sim_destroy(run.sim);
}

static void quiet(enum storm_log_level level, const char *msg)
{
	(void) level;
	(void) msg;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	unsigned long first = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;

	storm_log_set(quiet);
	idle(true);
	idle(false);
	orphaned();
	for (unsigned long i = 0; i < n; i++)
		(first + i) % 4 ? schedule(first + i) : refused(first + i);
	printf("%lu schedules, no violation\n", n);
	return 0;
}
