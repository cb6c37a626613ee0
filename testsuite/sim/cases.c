/*
 * cases.c - see cases.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "case_check.h"
#include "cases.h"
#include "src/libstorm/base/chance.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/protocol/owner/owner_private.h"
#include "src/storm_sim/engine/sim.h"

struct told { /* what the owner reported */
	bool opened, open_ok;
	int why, sys; /* of the last one named at OPEN */
	struct storm_idset named;
	struct storm_outcome out;
	uint32_t ended;
	struct storm_idset overdue;
	uint32_t times, backs; /* a node was overdue, was back */
};

static void on_opened(void *arg, struct storm_outcome *out)
{
	struct told *t = arg;

	t->opened = true;
	t->open_ok = out->state == STORM_DONE;
	for (uint32_t i = 0; i < out->faults_kept; i++) {
		storm_idset_add(&t->named, out->faults[i].node,
				out->faults[i].node);
		t->why = (int) out->faults[i].why;
		t->sys = out->faults[i].sys;
	}
	storm_outcome_clear(out);
}

static void on_done(void *arg, void *token, struct storm_outcome *out)
{
	struct told *t = arg;

	(void) token;
	storm_outcome_clear(&t->out);
	t->out = *out;
	t->ended++;
}

static void on_compared(void *arg, void *token, enum storm_compare result,
			struct storm_outcome *out)
{
	(void) arg;
	(void) token;
	(void) result;
	storm_outcome_clear(out);
}

static void on_fault(void *arg, const struct storm_fault *f)
{
	struct told *t = arg;

	storm_idset_add(&t->named, f->node, f->node);
}

static void on_overdue(void *arg, uint32_t node, bool back)
{
	struct told *t = arg;
	struct storm_idset one = { 0 }, rest = { 0 };

	CHECK(storm_idset_has(&t->overdue, node) == back,
	      "n%u: told twice, back %d", node + 1, back);
	t->times += !back;
	t->backs += back;
	storm_idset_add(&one, node, node);
	if (back && !storm_idset_minus(&t->overdue, &one, &rest)) {
		storm_idset_clear(&t->overdue);
		t->overdue = rest;
	} else if (!back) {
		storm_idset_union(&t->overdue, &one);
	}
	storm_idset_clear(&one);
}

static const struct storm_owner_ops ops = {
	.opened = on_opened,
	.xfer_done = on_done,
	.compare_done = on_compared,
	.fault = on_fault,
	.overdue = on_overdue,
};

static bool is_opened(void *arg)
{
	return ((struct told *) arg)->opened;
}
static bool has_ended(void *arg)
{
	return ((struct told *) arg)->ended > 0;
}

static struct storm_sim *begin(const struct storm_sim_conf *c, struct told *t)
{
	struct storm_sim *sim = storm_sim_create(c, &ops, t);

	if (!sim)
		abort();
	return sim;
}

static int open_domain(struct storm_sim *sim)
{
	int err = storm_owner_open(storm_sim_owner(sim), storm_sim_now(sim));

	storm_sim_called(sim, STORM_NO_NODE);
	return err;
}

/* A domain that all nodes have opened. */
static struct storm_sim *begin_opened(const struct storm_sim_conf *c,
				      struct told *t)
{
	struct storm_sim *sim = begin(c, t);

	CHECK(!open_domain(sim), "open");
	CHECK(storm_sim_run(sim, 20 * STORM_SEC, is_opened, t) && t->open_ok,
	      "OPEN failed");
	return sim;
}

static void close_domain(struct storm_sim *sim)
{
	storm_owner_close(storm_sim_owner(sim), storm_sim_now(sim));
	storm_sim_called(sim, STORM_NO_NODE);
}

static void end(struct storm_sim *sim, struct told *t)
{
	storm_idset_clear(&t->named);
	storm_idset_clear(&t->overdue);
	storm_outcome_clear(&t->out);
	storm_sim_destroy(sim);
}

/* Nothing happens for an hour, on a network that loses three datagrams in ten:
 * no node is taken for dead. */
static void idle(bool multicast)
{
	struct storm_sim_conf c = { .seed = 1,
				    .nodes = 12,
				    .mtu = 1472,
				    .loss_ppm = 300000,
				    .latency = 50 * STORM_US,
				    .multicast = multicast };
	struct told t = { 0 };
	struct storm_sim *sim;

	storm_settings_default(&c.set);
	sim = begin_opened(&c, &t);
	storm_sim_run(sim, 3600 * STORM_SEC, NULL, NULL);
	CHECK(!storm_idset_size(&t.named), "multicast %d", multicast);
	for (uint32_t i = 0; i < c.nodes; i++)
		CHECK(storm_sim_session(sim, i), "n%u closed its session",
		      i + 1);
	/* 12 nodes give some 170,000 signs in an hour: chance takes four in a
	 * row of them a thousand times */
	CHECK(t.times < 250, "%u times somebody was called overdue", t.times);
	CHECK(t.times - t.backs == storm_idset_size(&t.overdue), "%u, %u",
	      t.times, t.backs);
	end(sim, &t);
}

static bool some_overdue(void *arg)
{
	return ((struct told *) arg)->times;
}
static bool some_back(void *arg)
{
	return ((struct told *) arg)->backs;
}
static bool some_named(void *arg)
{
	return storm_idset_size(&((struct told *) arg)->named);
}

/* A node that does not run for three seconds is reported once as overdue and
 * once as back; for half a second, not at all; for ever, as overdue and then as
 * lost. */
static void overdue(uint32_t node, bool multicast)
{
	struct storm_sim_conf c = { .seed = 1,
				    .nodes = 12,
				    .mtu = 1472,
				    .latency = 50 * STORM_US,
				    .multicast = multicast };
	struct told t = { 0 };
	struct storm_sim *sim;

	storm_settings_default(&c.set);
	c.set.radix = 3;
	sim = begin_opened(&c, &t);
	storm_sim_run(sim, 10 * STORM_SEC, NULL, NULL);
	storm_sim_pause(sim, node, STORM_SEC / 2);
	storm_sim_run(sim, 10 * STORM_SEC, NULL, NULL);
	CHECK(!t.times, "n%u: half a second is nothing", node + 1);
	storm_sim_pause(sim, node, 3 * STORM_SEC);
	CHECK(storm_sim_run(sim, 3 * STORM_SEC, some_overdue, &t),
	      "n%u is not missed", node + 1);
	CHECK(!t.backs, "n%u is back too early", node + 1);
	CHECK(storm_sim_run(sim, 10 * STORM_SEC, some_back, &t),
	      "n%u is not back", node + 1);
	storm_sim_run(sim, 10 * STORM_SEC, NULL, NULL);
	CHECK(t.times == 1 && t.backs == 1, "n%u: told %u, %u times", node + 1,
	      t.times, t.backs);
	CHECK(!storm_idset_size(&t.named), "n%u: somebody is lost", node + 1);
	storm_sim_crash(sim, node);
	CHECK(storm_sim_run(sim, 20 * STORM_SEC, some_named, &t),
	      "n%u is not lost", node + 1);
	CHECK(t.times == 2, "n%u: lost before it was overdue", node + 1);
	storm_sim_run(sim, 20 * STORM_SEC, NULL, NULL);
	CHECK(t.times == 2 && t.backs == 1,
	      "n%u: told %u, %u times of the dead", node + 1, t.times, t.backs);
	CHECK(storm_idset_size(&t.named) == 1 &&
		      storm_idset_has(&t.named, node),
	      "others than n%u are lost", node + 1);
	end(sim, &t);
}

void case_overdue(void)
{
	for (uint32_t node = 0; node < 12; node++) {
		overdue(node, true);
		overdue(node, false);
	}
}

void case_idle(void)
{
	idle(true);
	idle(false);
}

static struct storm_sim *calm(uint32_t nodes, struct told *t)
{
	struct storm_sim_conf c = { .seed = 1,
				    .nodes = nodes,
				    .mtu = 1472,
				    .latency = 50 * STORM_US,
				    .multicast = true };
	struct storm_sim *sim;

	storm_settings_default(&c.set);
	sim = begin_opened(&c, t);
	storm_sim_run(sim, STORM_SEC, NULL, NULL);
	return sim;
}

/* The node reports this id by itself. */
static void report_one(struct storm_sim *sim, uint32_t node, uint8_t kind,
		       uint32_t code, uint32_t id)
{
	struct storm_idset one = { 0 };

	storm_idset_add(&one, id, id);
	CHECK(!storm_nm_report(storm_sim_nm(sim, node),
			       storm_sim_session(sim, node), kind, code, &one,
			       storm_sim_now(sim)),
	      "n%u", node + 1);
	storm_idset_clear(&one);
	storm_sim_called(sim, node);
}

/* Where nothing is lost a node says twice in a second that it lives: a step may
 * last for days. */
void case_quiet(void)
{
	const uint64_t seconds = 60;
	struct told t = { 0 };
	struct storm_sim *sim = calm(12, &t);

	for (uint32_t i = 0; i < 12; i++) {
		const struct storm_sim_traffic *n = storm_sim_traffic(sim, i);
		uint64_t before = n->tx_control.datagrams;

		storm_sim_run(sim, seconds * STORM_SEC, NULL, NULL);
		n = storm_sim_traffic(sim, i);
		CHECK(n->tx_control.datagrams - before <= 2 * seconds + 2,
		      "n%u sent %llu datagrams", i + 1,
		      (unsigned long long) (n->tx_control.datagrams - before));
	}
	CHECK(!t.times && !storm_idset_size(&t.named), "somebody was missed");
	end(sim, &t);
}

/* Nodes start one after the other, for three seconds.  The owner acknowledges that
 * now and then, because each time wakes up all of them. */
void case_long_start(void)
{
	enum { NODES = 100, STARTED = 1, LEAF = NODES - 1 };
	struct told t = { 0 };
	struct storm_sim *sim = calm(NODES, &t);
	uint64_t before = storm_sim_traffic(sim, LEAF)->rx_control.datagrams,
		 got;

	for (uint32_t i = 0; i < NODES; i++) {
		report_one(sim, i, STARTED, 0, i);
		storm_sim_run(sim, 30 * STORM_MS, NULL, NULL);
	}
	storm_sim_run(sim, 2 * STORM_SEC, NULL, NULL);
	got = storm_sim_traffic(sim, LEAF)->rx_control.datagrams - before;
	/* five heartbeats, and its parent's answer */
	CHECK(got <= 5 + 1 + 8, "a leaf got %llu datagrams",
	      (unsigned long long) got);
	for (uint32_t i = 0; i < NODES; i++)
		CHECK(storm_idset_has(storm_sim_acked(sim, i, STARTED), i),
		      "n%u is not acknowledged", i + 1);
	end(sim, &t);
}

static bool all_started(void *arg)
{
	struct storm_sim *sim = arg;

	for (uint32_t i = 0; i < 100; i++)
		if (!storm_idset_has(storm_sim_acked(sim, i, 1), i))
			return false;
	return true;
}

/* The datagrams of all nodes, from when they start within 60 ms until they know that
 * the owner has it.  values: each of them also has a value for the owner. */
static uint64_t start_with(bool values)
{
	enum { NODES = 100, STARTED = 1 };
	struct told t = { 0 };
	struct storm_sim *sim = calm(NODES, &t);
	uint64_t n = 0;

	for (uint32_t i = 0; i < NODES; i++)
		n -= storm_sim_traffic(sim, i)->tx_control.datagrams;
	for (uint32_t k = 0; k < NODES; k++) {
		uint32_t i = k * 37 % NODES;

		storm_nm_expect(storm_sim_nm(sim, i), storm_sim_session(sim, i),
				STARTED, 1);
		if (values)
			report_one(sim, i, STORM_REPORT_VALUE, 1000 + i, i);
		report_one(sim, i, STARTED, 0, i);
		storm_sim_run(sim, 600 * STORM_US, NULL, NULL);
	}
	CHECK(storm_sim_run(sim, STORM_SEC, all_started, sim),
	      "some are not acknowledged");
	for (uint32_t i = 0; i < NODES; i++)
		n += storm_sim_traffic(sim, i)->tx_control.datagrams;
	end(sim, &t);
	return n;
}

/* Values of the nodes go up with what else does, and are no reason to hurry. */
void case_values(void)
{
	uint64_t without = start_with(false), with = start_with(true);

	CHECK(with <= without + without / 10,
	      "%llu datagrams, and %llu with values",
	      (unsigned long long) without, (unsigned long long) with);
}

static bool all_told(void *arg)
{
	const struct told *t = arg;

	return t->times && storm_idset_size(&t->named);
}

/* An inner node reports all the time, and one below it dies: that comes up beside
 * the reports. */
void case_reporting(void)
{
	enum { NODES = 100, PARENT = 1, BELOW = 17, STARTED = 1 };
	struct told t = { 0 };
	struct storm_sim *sim = calm(NODES, &t);

	storm_sim_crash(sim, BELOW);
	for (uint32_t i = 0; i < 35 && !all_told(&t); i++) {
		report_one(sim, PARENT, STARTED, 1, i);
		storm_sim_run(sim, 200 * STORM_MS, all_told, &t);
	}
	CHECK(t.times == 1, "n%u is not overdue", BELOW + 1);
	CHECK(storm_idset_size(&t.named) == 1 &&
		      storm_idset_has(&t.named, BELOW),
	      "n%u is not lost", BELOW + 1);
	end(sim, &t);
}

/* An inner node dies after it has forwarded the OPEN, and another cannot be
 * opened: the nodes below the dead one receive the end by multicast at once. */
void case_orphaned(void)
{
	struct storm_sim_conf c = { .seed = 1,
				    .nodes = 14,
				    .mtu = 1472,
				    .latency = 50 * STORM_US,
				    .multicast = true };
	const uint32_t dead = 0, below = 2, last = 13;
	struct told t = { 0 };
	struct storm_sim *sim;

	storm_settings_default(&c.set);
	c.set.radix = 2;
	sim = begin(&c, &t);
	storm_sim_foreign(sim, last);
	CHECK(!open_domain(sim), "open");
	while (!storm_sim_session(sim, below) && !t.opened)
		storm_sim_run(sim, 20 * STORM_US, NULL, NULL);
	storm_sim_crash(sim, dead);
	CHECK(storm_sim_run(sim, STORM_SEC, is_opened, &t) && !t.open_ok,
	      "OPEN went well without n%u", last + 1);
	CHECK(storm_sim_session(sim, below), "n%u has no session", below + 1);
	close_domain(sim);
	storm_sim_run(sim, 10 * STORM_MS, NULL, NULL);
	for (uint32_t i = 0; i < c.nodes; i++)
		CHECK(!storm_sim_session(sim, i), "n%u keeps its session",
		      i + 1);
	end(sim, &t);
}

/* A node dies, and at once one below it, from which its next parent has never
 * received anything. Both are found, no other node is named, and the domain
 * continues. Without multicast the nodes below receive nothing until then. */
static void two_dead(bool multicast)
{
	struct storm_sim_conf c = { .seed = 1,
				    .nodes = 30,
				    .mtu = 1472,
				    .latency = 50 * STORM_US,
				    .multicast = multicast };
	struct storm_target to = { .kind = STORM_TARGET_MEMORY };
	struct told t = { 0 };
	struct storm_sim *sim;

	storm_settings_default(&c.set);
	c.set.radix = 2;
	sim = begin(&c, &t);
	CHECK(!open_domain(sim), "open");
	CHECK(storm_sim_run(sim, STORM_SEC, is_opened, &t) && t.open_ok,
	      "OPEN failed");
	storm_sim_crash(sim, 0);
	storm_sim_crash(sim, 2); /* n1 has n3 and n4 */
	storm_sim_run(sim, 3 * c.set.dead_timeout, NULL, NULL);
	CHECK(storm_idset_size(&t.named) == 2 && storm_idset_has(&t.named, 0) &&
		      storm_idset_has(&t.named, 2),
	      "%u are named, multicast %d",
	      (unsigned int) storm_idset_size(&t.named), multicast);
	storm_owner_xfer(storm_sim_owner(sim), NULL, &to, "x", 1, &t,
			 storm_sim_now(sim));
	storm_sim_called(sim, STORM_NO_NODE);
	CHECK(storm_sim_run(sim, STORM_SEC, has_ended, &t) &&
		      t.out.state == STORM_DONE,
	      "the domain does not go on");
	end(sim, &t);
}

void case_two_dead(void)
{
	two_dead(true);
	two_dead(false);
}

/* A file waits on one node until others have ended there, which takes three times
 * as long as an operation may take without progress. */
static void turn(uint32_t node, bool multicast)
{
	struct storm_sim_conf c = { .seed = 1,
				    .nodes = 12,
				    .mtu = 1472,
				    .latency = 50 * STORM_US,
				    .multicast = multicast };
	struct storm_target to = { .kind = STORM_TARGET_FILE,
				   .path = "/tmp/app",
				   .mode = 0755 };
	struct told t = { 0 };
	struct storm_sim *sim;

	storm_settings_default(&c.set);
	c.set.radix = 3;
	sim = begin(&c, &t);
	storm_owner_xfer(storm_sim_owner(sim), NULL, &to, "x", 1, &t,
			 storm_sim_now(sim));
	storm_sim_queue(sim, node, storm_sim_now(sim) + 3 * c.set.op_timeout);
	CHECK(!open_domain(sim), "open");
	CHECK(storm_sim_run(sim, 4 * c.set.op_timeout, has_ended, &t) &&
		      t.out.state == STORM_DONE,
	      "n%u, multicast %d: the file was given up", node + 1, multicast);
	end(sim, &t);
}

void case_turn(void)
{
	for (uint32_t node = 0; node < 12; node++) {
		turn(node, true);
		turn(node, false);
	}
}

/* An owner that loses much slows down, also on a link that takes few large
 * datagrams in the time between two looks. */
static void slow_link(uint32_t mtu)
{
	struct storm_sim_conf c = { .seed = 1,
				    .nodes = 4,
				    .mtu = mtu,
				    .loss_ppm = 400000,
				    .latency = 50 * STORM_US,
				    .bandwidth = 12500000,
				    .multicast = true };
	struct storm_target to = { .kind = STORM_TARGET_MEMORY };
	static uint8_t buf[8 << 20];
	struct told t = { 0 };
	struct storm_sim *sim;

	storm_settings_default(&c.set);
	sim = begin(&c, &t);
	CHECK(!open_domain(sim), "open");
	storm_owner_xfer(storm_sim_owner(sim), NULL, &to, buf, sizeof(buf), &t,
			 storm_sim_now(sim));
	CHECK(storm_sim_run(sim, 60 * STORM_SEC, has_ended, &t) &&
		      t.out.state == STORM_DONE,
	      "MTU %u: not sent", mtu);
	CHECK(storm_sim_owner(sim)->data.rate > 0, "MTU %u", mtu);
	end(sim, &t);
}

void case_slow_link(void)
{
	slow_link(1472);
	slow_link(8972);
}

/* One node cannot be opened, wherever it stands in the tree. */
void case_refused(uint64_t seed)
{
	uint64_t c = seed * 7919 + 1;
	struct storm_sim_conf conf = { .seed = seed };
	bool version = storm_chance_percent(&c, 50);
	struct storm_target to = { .kind = STORM_TARGET_FILE,
				   .path = "/tmp/app",
				   .mode = 0755 };
	struct told t = { 0 };
	struct storm_sim *sim;
	uint32_t victim;

	conf.nodes = (uint32_t) (1 + storm_chance_below(&c, 100));
	victim = (uint32_t) storm_chance_below(&c, conf.nodes);
	storm_settings_default(&conf.set);
	conf.set.radix = (uint32_t) (2 + storm_chance_below(&c, 8));
	conf.latency = 20 * STORM_US + storm_chance_below(&c, 300 * STORM_US);
	conf.jitter = storm_chance_below(&c, 500 * STORM_US);
	conf.multicast = storm_chance_percent(&c, 50);
	conf.mtu = 1472;
	conf.loss_ppm = storm_chance_percent(&c, 50) ? 50000 : 0;
	sim = begin(&conf, &t);
	if (version)
		storm_sim_foreign(sim, victim);
	else
		storm_sim_crash(sim, victim);
	storm_owner_xfer(storm_sim_owner(sim), NULL, &to, "x", 1, &t,
			 storm_sim_now(sim));
	CHECK(!open_domain(sim), "open");
	CHECK(storm_sim_run(sim, STORM_SEC, is_opened, &t),
	      "OPEN never ended: n%u of %u, radix %u", victim + 1, conf.nodes,
	      conf.set.radix);
	CHECK(!t.open_ok, "OPEN went well without n%u", victim + 1);
	CHECK(storm_idset_size(&t.named) == 1 &&
		      storm_idset_has(&t.named, victim),
	      "others than n%u are named", victim + 1);
	CHECK(version ? t.why == STORM_EVERSION &&
				t.sys == storm_protocol_version() + 1 :
			t.why == STORM_ENOAGENT,
	      "n%u: why %d, %d", victim + 1, t.why, t.sys);
	CHECK(t.ended == 1 && t.out.state == STORM_ABORTED,
	      "the transfer of a domain that is none");
	close_domain(sim);
	/* A node does not wait for an owner that is not yet admitted. */
	storm_sim_run(sim, conf.loss_ppm ? 40 * STORM_SEC : STORM_SEC, NULL,
		      NULL);
	for (uint32_t i = 0; i < conf.nodes; i++) {
		uint32_t n;

		storm_sim_files(sim, i, &n);
		CHECK(!n && !storm_sim_temporaries(sim, i) &&
			      !storm_sim_session(sim, i),
		      "n%u kept something", i + 1);
	}
	end(sim, &t);
}

/* A path that does not carry datagrams, or not the long ones. */
struct path {
	const char *name;
	bool in, out;
	size_t above;
	int sys;
};

static const struct path paths[] = {
	{ "none reach it", true, false, 1, ENOLINK },
	{ "its own do not come", false, true, 1, ECOMM },
	{ "none pass", true, true, 1, ECOMM },
	{ "long ones do not reach it", true, false, 1000, EMSGSIZE },
};

/* The transfer of a file that this node cannot be told of, or cannot answer:
 * within a second the node and the direction are named, and no node has it. */
static void cut_path(const struct path *p, uint32_t nodes, uint32_t node,
		     bool multicast)
{
	static uint8_t data[100000];
	struct storm_sim_conf c = { .seed = node + 1,
				    .nodes = nodes,
				    .mtu = 1472,
				    .loss_ppm = 10000,
				    .latency = 50 * STORM_US,
				    .multicast = multicast };
	struct storm_target to = { .kind = STORM_TARGET_FILE,
				   .path = "/tmp/app",
				   .mode = 0755 };
	struct storm_idset one = { 0 }, all = { 0 };
	struct told t = { 0 };
	struct storm_sim *sim;
	const struct storm_fault *f = NULL;

	storm_settings_default(&c.set);
	c.set.radix = nodes > 12 ? c.set.radix : 3;
	/* a site's that waits long for a slow group */
	if (multicast)
		c.set.multicast_timeout = 5 * STORM_SEC;
	sim = begin(&c, &t);
	storm_idset_add(&one, node, node);
	storm_idset_add(&all, 0, c.nodes);
	if (p->in)
		storm_sim_filter(sim, &all, &one, p->above, 60 * STORM_SEC);
	if (p->out)
		storm_sim_filter(sim, &one, &all, p->above, 60 * STORM_SEC);
	storm_owner_xfer(storm_sim_owner(sim), NULL, &to, data, sizeof(data),
			 &t, storm_sim_now(sim));
	CHECK(!open_domain(sim), "open");
	CHECK(storm_sim_run(sim, STORM_SEC, has_ended, &t),
	      "%s: n%u, multicast %d: no end in time", p->name, node + 1,
	      multicast);
	CHECK(t.out.state == STORM_ABORTED, "%s: n%u, multicast %d: state %d",
	      p->name, node + 1, multicast, t.out.state);
	for (uint32_t i = 0; i < t.out.faults_kept; i++)
		if (t.out.faults[i].node == node)
			f = &t.out.faults[i];
	CHECK(f || (t.out.faults_kept == 0 && storm_idset_has(&t.named, node)),
	      "%s: n%u is not named", p->name, node + 1);
	CHECK(storm_idset_size(&t.named) + (p->above > 1) == 1 &&
		      t.out.faults_kept <= 1,
	      "%s: others than n%u are named", p->name, node + 1);
	CHECK((f ? (int) f->why : t.why) ==
			      (p->above > 1 ? STORM_ETOOBIG : STORM_ELOST) &&
		      (f ? f->sys : t.sys) == p->sys,
	      "%s: n%u: why %d, %d", p->name, node + 1,
	      f ? (int) f->why : t.why, f ? f->sys : t.sys);
	storm_idset_clear(&one);
	storm_idset_clear(&all);
	close_domain(sim);
	storm_sim_run(sim, 60 * STORM_SEC, NULL, NULL);
	for (uint32_t i = 0; i < c.nodes; i++) {
		uint32_t n;

		storm_sim_files(sim, i, &n);
		CHECK(!n && !storm_sim_temporaries(sim, i) &&
			      !storm_sim_session(sim, i),
		      "%s: n%u kept something", p->name, i + 1);
	}
	end(sim, &t);
}

void case_cut_paths(void)
{
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		for (uint32_t node = 0; node < 14; node++)
			for (int multicast = 0; multicast < 2; multicast++)
				cut_path(&paths[i], node < 12 ? 12 : 200,
					 node == 13 ? 199 : node, multicast);
}

/* All nodes get a file within `limit` ns. */
static void file_arrives(struct storm_sim *sim, struct told *t,
			 const uint8_t *data, size_t size, uint64_t limit)
{
	const struct storm_target to = { .kind = STORM_TARGET_FILE,
					 .path = "/tmp/app",
					 .mode = 0755 };

	storm_owner_xfer(storm_sim_owner(sim), NULL, &to, data, size, t,
			 storm_sim_now(sim));
	storm_sim_called(sim, STORM_NO_NODE);
	CHECK(storm_sim_run(sim, limit, has_ended, t) &&
		      t->out.state == STORM_DONE,
	      "the file: ended %u, state %d", t->ended, t->out.state);
}

/* No path takes long datagrams upwards. A file arrives though much of it is lost,
 * and reports of more than fits a datagram. */
void case_long_up(void)
{
	enum { NODES = 12, EXITED = 1, CODES = 60 };
	static uint8_t data[2000000];
	struct storm_sim_conf c = { .seed = 1,
				    .nodes = NODES,
				    .mtu = 1472,
				    .loss_ppm = 100000,
				    .latency = 50 * STORM_US,
				    .multicast = true };
	struct storm_idset up = { 0 }, all = { 0 };
	struct told t = { 0 };
	struct storm_sim *sim;

	storm_settings_default(&c.set);
	c.set.radix = 3;
	sim = begin_opened(&c, &t);
	storm_idset_add(&up, 0, NODES - 1);
	storm_idset_add(&all, 0, NODES);
	storm_sim_filter(sim, &up, &all, 1200, 3600 * STORM_SEC);
	file_arrives(sim, &t, data, sizeof(data), 20 * STORM_SEC);
	for (uint32_t i = 0; i < NODES; i++)
		for (uint32_t k = 0; k < CODES; k++)
			report_one(sim, i, EXITED, 1 + i * CODES + k,
				   2 * (i * CODES + k));
	storm_sim_run(sim, 20 * STORM_SEC, NULL, NULL);
	for (uint32_t i = 0; i < NODES; i++)
		for (uint32_t k = 0; k < CODES; k++)
			CHECK(storm_idset_has(storm_sim_acked(sim, i, EXITED),
					      2 * (i * CODES + k)),
			      "n%u: report %u is not acknowledged", i + 1, k);
	storm_idset_clear(&up);
	storm_idset_clear(&all);
	end(sim, &t);
}

/* A node gets long datagrams by multicast alone.  What it lacks comes so, too. */
void case_long_by_the_group(void)
{
	static uint8_t data[5000000];
	struct storm_sim_conf c = { .seed = 1,
				    .nodes = 4,
				    .mtu = 1472,
				    .loss_ppm = 20000,
				    .latency = 50 * STORM_US,
				    .multicast = true };
	struct storm_idset one = { 0 }, all = { 0 };
	struct told t = { 0 };
	struct storm_sim *sim;

	storm_settings_default(&c.set);
	sim = begin_opened(&c, &t);
	storm_idset_add(&one, 1, 1);
	storm_idset_add(&all, 0, c.nodes);
	storm_sim_filter_single(sim, &all, &one, 1000, 3600 * STORM_SEC);
	file_arrives(sim, &t, data, sizeof(data), 5 * STORM_SEC);
	storm_idset_clear(&one);
	storm_idset_clear(&all);
	end(sim, &t);
}

static bool has_ended_twice(void *arg)
{
	const struct told *t = arg;

	return t->ended == 2;
}

/* While a file comes these nodes hear no multicast any more.  It arrives, and so does
 * what follows. */
static void multicast_ends(uint32_t first, uint32_t last, uint32_t radix)
{
	static uint8_t data[8000000];
	const struct storm_target to = { .kind = STORM_TARGET_FILE,
					 .path = "/tmp/app",
					 .mode = 0755 };
	const struct storm_target memory = { .kind = STORM_TARGET_MEMORY,
					     .remote_event = 1 };
	struct storm_sim_conf c = { .seed = 1,
				    .nodes = 12,
				    .mtu = 1472,
				    .latency = 50 * STORM_US,
				    .bandwidth = 125e6,
				    .multicast = true };
	struct storm_idset deaf = { 0 };
	struct told t = { 0 };
	struct storm_sim *sim;

	storm_settings_default(&c.set);
	c.set.radix = radix;
	sim = begin_opened(&c, &t);
	storm_idset_add(&deaf, first, last);
	storm_owner_xfer(storm_sim_owner(sim), NULL, &to, data, sizeof(data),
			 &t, storm_sim_now(sim));
	storm_sim_called(sim, STORM_NO_NODE);
	storm_sim_run(sim, 20 * STORM_MS, NULL, NULL);
	CHECK(!t.ended && storm_owner_progress(storm_sim_owner(sim), &t),
	      "it is not under way");
	storm_sim_deafen(sim, &deaf, 3600 * STORM_SEC);
	CHECK(storm_sim_run(sim, 5 * STORM_SEC, has_ended, &t) &&
		      t.out.state == STORM_DONE,
	      "n%u to n%u, radix %u: ended %u, state %d", first + 1, last + 1,
	      radix, t.ended, t.out.state);
	storm_owner_xfer(storm_sim_owner(sim), NULL, &memory, data, 5000, &t,
			 storm_sim_now(sim));
	storm_sim_called(sim, STORM_NO_NODE);
	CHECK(storm_sim_run(sim, 5 * STORM_SEC, has_ended_twice, &t) &&
		      t.out.state == STORM_DONE,
	      "n%u to n%u, radix %u: what follows: ended %u, state %d",
	      first + 1, last + 1, radix, t.ended, t.out.state);
	/* two and fewer get what they lack alone */
	CHECK(storm_sim_owner(sim)->send.multicast == (last - first < 2),
	      "n%u to n%u, radix %u: by multicast?", first + 1, last + 1,
	      radix);
	storm_idset_clear(&deaf);
	end(sim, &t);
}

void case_multicast_ends(void)
{
	for (uint32_t radix = 2; radix <= 8; radix += 6) {
		multicast_ends(0, 11, radix);
		multicast_ends(3, 7, radix);
		multicast_ends(11, 11, radix);
		multicast_ends(1, 1, radix);
	}
}

/* An owner that sends OPEN and nothing more: what comes back to it, and to others
 * that it has named, is no more than it sent. */
void case_silent_owner(void)
{
	struct storm_sim_conf c = {
		.seed = 1, .nodes = 3, .mtu = 1472, .latency = 50 * STORM_US
	};
	struct storm_idset all = { 0 }, owner = { 0 };
	struct told t = { 0 };
	struct storm_sim *sim;
	uint8_t *stream;
	size_t len;

	storm_settings_default(&c.set);
	c.set.dead_timeout = c.set.open_timeout = 60 * STORM_SEC;
	sim = begin(&c, &t);
	storm_idset_add(&all, 0, c.nodes - 1);
	storm_idset_add(&owner, c.nodes, c.nodes);
	storm_sim_filter(sim, &owner, &all, 1, 3600 * STORM_SEC);
	CHECK(!open_domain(sim), "open");
	stream = storm_open_stream(storm_sim_owner(sim)->open, 0, &len);
	CHECK(stream, "no memory");
	free(stream);
	storm_sim_run(sim, 20 * STORM_SEC, NULL, NULL);
	for (uint32_t i = 0; i < c.nodes; i++) {
		const struct storm_sim_count *n =
			&storm_sim_traffic(sim, i)->tx_control;

		CHECK(n->datagrams &&
			      n->bytes + 28 * n->datagrams <= len + 5 * 40,
		      "n%u: %llu bytes in %llu datagrams, for an OPEN of %zu",
		      i + 1, (unsigned long long) n->bytes,
		      (unsigned long long) n->datagrams, len);
	}
	storm_idset_clear(&all);
	storm_idset_clear(&owner);
	end(sim, &t);
}
