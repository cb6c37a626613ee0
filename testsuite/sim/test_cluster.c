/*
 * test_cluster.c - the cluster domain under seeded faults: owners die, are cut
 * off and go on speaking, or are followed by another one for no reason; nodes
 * die, forget and come back.  Every operation writes a number that is higher
 * than all before into a global variable of all members.  The value on a node
 * thus shows which operations the node has executed.  The value never falls,
 * and it is never that of an ABORTED operation.  In the end it is the same on
 * all nodes, and no DONE operation is missing.
 *
 * usage: test_cluster [SCHEDULES [FIRST-SEED]]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/chance.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/protocol/owner/owner_private.h"
#include "src/libstorm/wire/wire.h"
#include "src/storm_sim/engine/sim.h"

#define OPS 40
#define VAR STORM_GLOBAL(5)
#define ASKED STORM_GLOBAL(6) /* written at the nodes' request */

struct op {
	struct run *r;
	bool done;
	enum storm_state state;
};
struct owner {
	bool opened;
	enum storm_state state;
};

struct run {
	struct storm_sim *sim;
	uint64_t seed, random;
	uint32_t nodes;
	bool many; /* so many may be out that they go in parts */
	struct owner owner[STORM_SIM_OWNERS], *last;
	struct op op[OPS + 1]; /* op k writes k */
	uint32_t ops;
	struct op asked[OPS + 1];
	uint32_t asks;
	uint64_t *seen;	 /* by node: what it showed last */
	uint32_t *life;	 /* how often it forgot */
	uint32_t deaths; /* of one node that is to be back */
	uint64_t strobe; /* the last one's number */
};

static struct storm_idset unanswered; /* of the comparison that failed last */
static struct storm_sim *when;	      /* source of the messages' times */

#define CHECK(cond, ...)                                              \
	do {                                                          \
		if (!(cond)) {                                        \
			fprintf(stderr, "seed %llu: %s: ",            \
				(unsigned long long) r->seed, #cond); \
			fprintf(stderr, __VA_ARGS__);                 \
			fputc('\n', stderr);                          \
			abort();                                      \
		}                                                     \
	} while (0)

static uint64_t chance(struct run *r)
{
	return storm_chance(&r->random);
}

static void on_opened(void *arg, struct storm_outcome *out)
{
	struct owner *o = arg;

	o->opened = true;
	o->state = out->state;
	storm_outcome_clear(out);
}

static void on_done(void *arg, void *token, struct storm_outcome *out)
{
	(void) arg;
	*(enum storm_state *) token = out->state;
	storm_outcome_clear(out);
}

static void on_compared(void *arg, void *token, enum storm_compare result,
			struct storm_outcome *out)
{
	struct op *op = token;
	struct run *r = op->r;

	(void) arg;
	CHECK(!op->done, "op %d ended twice", (int) (op - r->op));
	CHECK((result == STORM_TRUE) == (out->state == STORM_DONE) &&
		      result != STORM_FALSE,
	      "op %d: %d, %d", (int) (op - r->op), (int) result,
	      (int) out->state);
	op->done = true;
	op->state = out->state;
	for (uint32_t i = 0; getenv("STORM_VERBOSE") && i < out->nfaults; i++)
		fprintf(stderr, "op %d: n%u: %s\n", (int) (op - r->op),
			out->faults[i].node + 1,
			storm_strerror((int) out->faults[i].why));
	storm_idset_clear(&unanswered);
	for (uint32_t i = 0; i < out->faults_kept; i++)
		storm_idset_add(&unanswered, out->faults[i].node,
				out->faults[i].node);
	storm_outcome_clear(out);
}

static void on_requested(void *arg, uint32_t node, void *token,
			 enum storm_compare result,
			 const struct storm_outcome *out)
{
	struct op *op = token;
	struct run *r = arg;

	CHECK(!op->done, "n%u: %d ended twice", node + 1,
	      (int) (op - r->asked));
	CHECK((result == STORM_TRUE) == (out->state == STORM_DONE) &&
		      result != STORM_FALSE,
	      "n%u: %d, %d", node + 1, (int) result, (int) out->state);
	op->done = true;
	op->state = out->state;
}

static void on_report(void *arg, const struct storm_report *rep)
{
	(void) arg;
	(void) rep;
}

static struct storm_fault fault; /* the last one */

static void on_fault(void *arg, const struct storm_fault *f)
{
	(void) arg;
	fault = *f;
}

static const struct storm_owner_ops ops = {
	.opened = on_opened,
	.fault = on_fault,
	.xfer_done = on_done,
	.compare_done = on_compared,
	.report = on_report,
};

static uint64_t asked_of(struct run *r, uint32_t node)
{
	uint64_t v = 0;

	if (storm_sim_nm(r->sim, node))
		storm_nm_variable(storm_sim_nm(r->sim, node),
				  storm_sim_session(r->sim, node), ASKED, &v);
	return v;
}

static void look_at_asked(struct run *r, uint32_t node)
{
	uint64_t v = asked_of(r, node);

	CHECK(v <= r->asks &&
		      !(r->asked[v].done && r->asked[v].state == STORM_ABORTED),
	      "n%u shows %llu, asked for by a node and aborted", node + 1,
	      (unsigned long long) v);
}

static void look(struct run *r)
{
	for (uint32_t i = 0; i < r->nodes; i++) {
		struct storm_nm *nm = storm_sim_nm(r->sim, i);
		uint64_t v;

		if (!nm || storm_nm_variable(nm, storm_sim_session(r->sim, i),
					     VAR, &v))
			continue;
		look_at_asked(r, i);
		CHECK(!v || (v <= r->ops && !(r->op[v].done &&
					      r->op[v].state == STORM_ABORTED)),
		      "n%u shows %llu, which was aborted", i + 1,
		      (unsigned long long) v);
		/* it left, and came back empty */
		if (v < r->seen[i])
			CHECK(!v, "n%u shows %llu after %llu", i + 1,
			      (unsigned long long) v,
			      (unsigned long long) r->seen[i]);
		r->seen[i] = v;
	}
}

static void pass(struct run *r, uint64_t ns)
{
	uint64_t end = storm_sim_now(r->sim) + ns;

	while (storm_sim_now(r->sim) < end) {
		storm_sim_run(r->sim, 1 + chance(r) % (2 * STORM_MS), NULL,
			      NULL);
		look(r);
	}
}

static void write_one(struct run *r)
{
	struct storm_assign w = { VAR, r->ops + 1 };
	struct op *op = &r->op[r->ops + 1];

	if (r->ops == OPS || !storm_sim_owner(r->sim))
		return;
	op->r = r;
	r->ops++;
	if (storm_owner_compare(storm_sim_owner(r->sim), NULL, VAR, STORM_GE, 0,
				&w, op, storm_sim_now(r->sim))) {
		op->done = true;
		op->state = STORM_ABORTED;
		return;
	}
	storm_sim_called(r->sim, STORM_NO_NODE);
}

/* A node is the initiator. */
static void ask_one(struct run *r, uint32_t node)
{
	struct storm_assign w = { ASKED, r->asks + 1 };

	if (r->asks == OPS || !storm_sim_nm(r->sim, node) ||
	    storm_nm_compare(storm_sim_nm(r->sim, node),
			     storm_sim_session(r->sim, node), NULL, ASKED,
			     STORM_GE, 0, &w, &r->asked[r->asks + 1]))
		return;
	r->asks++;
	storm_sim_called(r->sim, node);
}

static bool is_opened(void *arg)
{
	return ((struct run *) arg)->last->opened;
}
static bool last_done(void *arg)
{
	struct run *r = arg;

	return r->op[r->ops].done;
}

static void begin_owner(struct run *r)
{
	int err;

	err = storm_owner_open(storm_sim_owner(r->sim), storm_sim_now(r->sim));
	CHECK(!err, "open: %s", storm_strerror(err));
	storm_sim_called(r->sim, STORM_NO_NODE);
}

static void next_owner(struct run *r)
{
	if (r->last == &r->owner[STORM_SIM_OWNERS - 1])
		return;
	r->last++;
	CHECK(storm_sim_succeed(r->sim, r->last), "no next owner");
	begin_owner(r);
}

static void cut_owner(struct run *r)
{
	struct storm_range all = { 0, r->nodes - 1 };
	struct storm_range some = { (uint32_t) (chance(r) % r->nodes),
				    r->nodes - 1 };
	struct storm_range own = { r->nodes, r->nodes + STORM_SIM_OWNERS - 1 };
	struct storm_idset from = { chance(r) % 2 ? &all : &some, 1, 1 };
	struct storm_idset to = { &own, 1, 1 };

	if (chance(r) % 2)
		storm_sim_cut(r->sim, &from, &to, chance(r) % (6 * STORM_SEC));
	else
		storm_sim_cut(r->sim, &to, &from, chance(r) % (6 * STORM_SEC));
}

/* Every second node dies, or is there again. */
static void act_on_many(struct run *r)
{
	bool back = chance(r) % 2;

	for (uint32_t i = (uint32_t) (chance(r) % 2); i < r->nodes; i += 2)
		if (!back)
			storm_sim_crash(r->sim, i);
		else if (chance(r) % 4)
			storm_sim_restart(r->sim, i);
	pass(r, chance(r) % (5 * STORM_SEC));
}

static void act(struct run *r)
{
	uint32_t node = (uint32_t) (chance(r) % r->nodes);

	if (r->many && !(chance(r) % 8))
		act_on_many(r);
	switch (chance(r) % 20) {
	case 0:
		if (r->last == &r->owner[STORM_SIM_OWNERS - 1])
			break;
		if (storm_sim_owner(r->sim))
			storm_sim_crash(r->sim, STORM_NO_NODE);
		if (chance(r) % 4)
			next_owner(r);
		break;
	case 1:
		next_owner(r);
		break;
	case 2:
		storm_sim_crash(r->sim, node);
		break;
	case 3:
		storm_sim_crash(r->sim, node);
		storm_sim_restart(r->sim, node);
		break;
	case 4:
		storm_sim_restart(r->sim, node);
		break;
	case 5:
		storm_sim_pause(r->sim, node, chance(r) % (4 * STORM_SEC));
		break;
	case 6:
		if (storm_sim_owner(r->sim))
			storm_sim_pause(r->sim, STORM_NO_NODE,
					chance(r) % (4 * STORM_SEC));
		break;
	case 7:
		cut_owner(r);
		break;
	case 8:
	case 9:
	case 10:
		ask_one(r, node);
		ask_one(r, (uint32_t) (chance(r) % r->nodes));
		break;
	default:
		write_one(r);
	}
	pass(r, chance(r) % (chance(r) % 4 ? 3 * STORM_MS : 2 * STORM_SEC));
}

/* All nodes live, receive and have time: all are members, and show the same. */
static void settle(struct run *r)
{
	const struct storm_idset *out;
	uint64_t last = 0;

	storm_sim_heal(r->sim);
	storm_sim_loss(r->sim, 0);
	for (uint32_t i = 0; i < r->nodes; i++)
		storm_sim_restart(r->sim, i);
	if (!storm_sim_owner(r->sim))
		next_owner(r);
	pass(r, 60 * STORM_SEC);
	CHECK(r->last->opened && r->last->state == STORM_DONE,
	      "OPEN never ended");
	storm_sim_saved(r->sim, &out);
	CHECK(!out->count, "%u is still outside", out->r[0].first + 1);
	for (uint32_t k = 1; k <= r->ops; k++) {
		CHECK(r->op[k].done, "op %u never ended", k);
		if (r->op[k].state == STORM_DONE)
			last = k;
	}
	for (uint32_t i = 0; i < r->nodes; i++)
		CHECK(!r->seen[i] || r->seen[i] >= last,
		      "n%u shows %llu, but %llu was DONE", i + 1,
		      (unsigned long long) r->seen[i],
		      (unsigned long long) last);
	for (uint32_t k = 1; k <= r->asks; k++)
		CHECK(r->asked[k].done,
		      "what a node asked for, %u, never ended", k);
	for (uint32_t i = 0; i < r->nodes; i++)
		for (uint32_t k = 0; k < i; k++)
			CHECK(!asked_of(r, i) || !asked_of(r, k) ||
				      asked_of(r, i) == asked_of(r, k),
			      "n%u and n%u differ in what nodes asked for",
			      i + 1, k + 1);
	for (uint32_t i = 0; i < r->nodes; i++)
		for (uint32_t k = 0; k < i; k++)
			CHECK(!r->seen[i] || !r->seen[k] ||
				      r->seen[i] == r->seen[k],
			      "n%u and n%u differ", i + 1, k + 1);
	r->ops = r->ops == OPS ? OPS - 1 : r->ops;
	r->op[r->ops + 1].done = false;
	write_one(r);
	CHECK(storm_sim_run(r->sim, 30 * STORM_SEC, last_done, r),
	      "the last one never ended");
	look(r);
	CHECK(r->op[r->ops].state == STORM_DONE, "state %d",
	      (int) r->op[r->ops].state);
	for (uint32_t i = 0; i < r->nodes; i++)
		CHECK(r->seen[i] == r->ops, "n%u shows %llu", i + 1,
		      (unsigned long long) r->seen[i]);
}

static void schedule(uint64_t seed)
{
	struct run run = { .seed = seed, .random = seed * 7919 + 1 }, *r = &run;
	struct storm_sim_conf c = { .seed = seed, .cluster = 77 };

	r->nodes = c.nodes = (uint32_t) (chance(r) % 4 ? 1 + chance(r) % 6 :
							 1 + chance(r) % 40);
	r->many = seed % 25 == 0;
	if (r->many)
		r->nodes = c.nodes = (uint32_t) (120 + chance(r) % 60);
	storm_settings_default(&c.set);
	c.set.radix = (uint32_t) (2 + chance(r) % 4);
	c.set.window = 64 << 10;
	c.set.open_timeout = 2 * STORM_SEC;
	c.set.dead_timeout = 2 * STORM_SEC;
	c.set.op_timeout = 4 * STORM_SEC;
	c.set.heartbeat = STORM_SEC / 2;
	c.set.multicast = chance(r) % 4;
	c.set.group.ip[15] = (uint8_t) seed;
	c.latency = 20 * STORM_US + chance(r) % (300 * STORM_US);
	c.jitter = chance(r) % (500 * STORM_US);
	c.bandwidth = 125e6;
	c.multicast = chance(r) % 4;
	c.mtu = r->many ? STORM_MTU_MIN : 1472;
	c.loss_ppm = chance(r) % 3 ? 0 : (uint32_t) (chance(r) % 200000);
	c.dup_ppm = chance(r) % 3 ? 0 : 30000;
	r->seen = calloc(c.nodes, sizeof(*r->seen));
	r->last = r->owner;
	r->sim = storm_sim_create(&c, &ops, r->last);
	when = r->sim;
	storm_sim_watch(r->sim, &(struct storm_sim_watch) {
					.requested = on_requested, .arg = r });
	CHECK(r->sim && r->seen, "no simulation");
	begin_owner(r);
	if (chance(r) % 4)
		CHECK(storm_sim_run(r->sim, 20 * STORM_SEC, is_opened, r),
		      "OPEN never ended");
	for (int n = 0; n < 30; n++)
		act(r);
	settle(r);
	storm_sim_destroy(r->sim);
	free(r->seen);
}

static bool is_over(void *arg)
{
	return *(enum storm_state *) arg != STORM_PENDING;
}

/* All nodes are outside: a transfer has no target, by multicast or along the
 * chain, and its owner does not report that all show it. */
static void nobody_is_left(bool multicast)
{
	struct run run = { .random = 1 }, *r = &run;
	struct storm_sim_conf c = { .nodes = 1,
				    .cluster = 77,
				    .mtu = 1472,
				    .multicast = multicast,
				    .bandwidth = 125e6 };
	struct storm_target to = { .kind = STORM_TARGET_MEMORY };
	enum storm_state state = STORM_PENDING;
	int err;

	r->nodes = 1;
	storm_settings_default(&c.set);
	c.set.multicast = multicast;
	r->last = r->owner;
	r->sim = storm_sim_create(&c, &ops, r->last);
	CHECK(r->sim, "no simulation");
	begin_owner(r);
	CHECK(storm_sim_run(r->sim, 20 * STORM_SEC, is_opened, r),
	      "OPEN never ended");
	storm_sim_crash(r->sim, 0);
	storm_sim_run(r->sim, 20 * STORM_SEC, NULL, NULL);
	err = storm_owner_xfer(storm_sim_owner(r->sim), NULL, &to, "some", 4,
			       &state, storm_sim_now(r->sim));
	CHECK(!err, "xfer: %s", storm_strerror(err));
	storm_sim_called(r->sim, STORM_NO_NODE);
	storm_sim_run(r->sim, 60 * STORM_SEC, is_over, &state);
	CHECK(state == STORM_ABORTED, "a transfer to nobody is %d",
	      (int) state);
	storm_sim_destroy(r->sim);
}

static bool is_back(void *arg)
{
	const struct storm_idset *out;
	struct run *r = arg;

	/* from epoch 1 on: each time one without it, one with it */
	return (storm_sim_saved(r->sim, &out) & 0xffff) >= 2 * r->deaths &&
	       !out->count;
}

/* What is not a whole note is none, and does no harm. */
static void half_notes(struct run *r)
{
	struct storm_nm *nm = storm_sim_nm(r->sim, 1);
	uint8_t note[STORM_NOTE_MAX + 1];
	size_t len = storm_nm_note(nm, storm_sim_session(r->sim, 1), note);

	CHECK(len && !storm_nm_note(nm, 4711, note), "no note");
	for (size_t n = 0; n <= STORM_NOTE_MAX; n++)
		CHECK(n == len || storm_nm_return(nm, note, n,
						  storm_sim_now(r->sim)) ==
					  STORM_EINVAL,
		      "%zu of %zu bytes are a note", n, len);
	note[0]++;
	CHECK(storm_nm_return(nm, note, len, storm_sim_now(r->sim)) ==
		      STORM_EINVAL,
	      "of another version");
}

/* A domain of 20 nodes, some of them three levels down. */
static struct storm_sim_conf twenty(bool multicast)
{
	struct storm_sim_conf c = { .nodes = 20,
				    .cluster = 77,
				    .mtu = 1472,
				    .multicast = multicast,
				    .bandwidth = 125e6,
				    .latency = 50 * STORM_US };

	storm_settings_default(&c.set);
	c.set.radix = 3;
	c.set.multicast = multicast;
	return c;
}

/* A node whose program dies and is started again is in again long before it would
 * be missed, wherever it stands in the tree, and as often as it dies. */
static void killed_and_started(bool multicast)
{
	struct run run = { .random = 1 }, *r = &run;
	struct storm_sim_conf c = twenty(multicast);
	static const uint32_t victim[] = { 0, 7, 19, 7 };
	uint64_t began;

	r->nodes = c.nodes;
	r->seen = calloc(c.nodes, sizeof(*r->seen));
	for (unsigned int i = 0; i < sizeof(victim) / sizeof(*victim); i++) {
		r->last = r->owner;
		*r->last = (struct owner) { 0 };
		r->ops = 0;
		r->deaths = 1;
		memset(r->op, 0, sizeof(r->op));
		memset(r->seen, 0, c.nodes * sizeof(*r->seen));
		when = r->sim = storm_sim_create(&c, &ops, r->last);
		CHECK(r->sim && r->seen, "no simulation");
		begin_owner(r);
		CHECK(storm_sim_run(r->sim, 20 * STORM_SEC, is_opened, r),
		      "OPEN never ended");
		half_notes(r);
		storm_sim_crash(r->sim, victim[i]);
		storm_sim_restart(r->sim, victim[i]);
		began = storm_sim_now(r->sim);
		CHECK(storm_sim_run(r->sim, STORM_SEC, is_back, r),
		      "n%u, %s multicast: not back in a second", victim[i] + 1,
		      multicast ? "with" : "without");
		if (getenv("STORM_VERBOSE"))
			fprintf(stderr, "n%u is back after %.1f ms\n",
				victim[i] + 1,
				(double) (storm_sim_now(r->sim) - began) / 1e6);
		write_one(r);
		CHECK(storm_sim_run(r->sim, 30 * STORM_SEC, last_done, r),
		      "the operation never ended");
		look(r);
		CHECK(r->op[1].state == STORM_DONE && r->seen[victim[i]] == 1,
		      "n%u has no part in it", victim[i] + 1);
		storm_sim_destroy(r->sim);
	}
	free(r->seen);
}

/* The owner answers one node more than once in a heartbeat. (The fourth time the
 * simulated host dies, which leaves no note.) */
static void killed_again_and_again(void)
{
	struct run run = { .random = 1 }, *r = &run;
	struct storm_sim_conf c = { .nodes = 8,
				    .cluster = 77,
				    .mtu = 1472,
				    .multicast = true,
				    .bandwidth = 125e6,
				    .latency = 50 * STORM_US };

	r->nodes = c.nodes;
	storm_settings_default(&c.set);
	r->last = r->owner;
	when = r->sim = storm_sim_create(&c, &ops, r->last);
	CHECK(r->sim, "no simulation");
	begin_owner(r);
	CHECK(storm_sim_run(r->sim, 20 * STORM_SEC, is_opened, r),
	      "OPEN never ended");
	for (r->deaths = 1; r->deaths <= 3; r->deaths++) {
		storm_sim_crash(r->sim, 3);
		storm_sim_restart(r->sim, 3);
		CHECK(storm_sim_run(r->sim, c.set.heartbeat / 2, is_back, r),
		      "not back in half a heartbeat, death %u", r->deaths);
	}
	storm_sim_destroy(r->sim);
}

static bool is_answered(void *arg)
{
	return ((struct op *) arg)->done;
}

static bool is_in(void *arg)
{
	const struct storm_idset *out;
	struct run *r = arg;

	storm_sim_saved(r->sim, &out);
	return !out->count;
}

/* By the owner, and taken by a node. */
static void strobe(struct run *r)
{
	r->strobe = storm_owner_strobe(storm_sim_owner(r->sim), "s", 1);
	CHECK(r->strobe, "no strobe was sent");
	storm_sim_called(r->sim, STORM_NO_NODE);
	storm_sim_run(r->sim, 50 * STORM_MS, NULL, NULL);
}

static bool strobed(struct run *r, uint32_t node)
{
	uint64_t v = 0;

	storm_nm_variable(storm_sim_nm(r->sim, node),
			  storm_sim_session(r->sim, node), STORM_VAR_HEARTBEAT,
			  &v);
	return v == r->strobe;
}

static bool is_out(void *arg)
{
	const struct storm_idset *out;
	struct run *r = arg;

	storm_sim_saved(r->sim, &out);
	return out->count;
}

static void begin_domain(struct run *r, struct storm_sim_conf *c)
{
	r->nodes = c->nodes;
	r->last = r->owner;
	when = r->sim = storm_sim_create(c, &ops, r->last);
	r->seen = calloc(c->nodes, sizeof(*r->seen));
	CHECK(r->sim && r->seen, "no simulation");
	begin_owner(r);
	CHECK(storm_sim_run(r->sim, 20 * STORM_SEC, is_opened, r),
	      "OPEN never ended");
}

static void end_domain(struct run *r)
{
	storm_sim_destroy(r->sim);
	free(r->seen);
}

/* All have a part in what is written now. */
static void write_to_all(struct run *r, uint64_t within)
{
	write_one(r);
	CHECK(storm_sim_run(r->sim, within, last_done, r),
	      "the operation took too long");
	look(r);
	for (uint32_t i = 0; i < r->nodes; i++)
		CHECK(r->seen[i] == r->ops, "n%u has no part in it", i + 1);
}

/* No datagram reaches a node, and its own pass.  It answers no question, within the
 * time that the question has; then it is excluded, and it alone, so the others' next
 * operation does not wait for it; and it is in again when datagrams reach it. */
static void hears_nothing(uint32_t node, bool multicast)
{
	struct run run = { .random = 1 }, *r = &run;
	struct storm_sim_conf c = twenty(multicast);
	struct storm_range all_r = { 0, 20 + STORM_SIM_OWNERS - 1 };
	struct storm_range one_r = { node, node };
	struct storm_idset all = { &all_r, 1, 1 }, one = { &one_r, 1, 1 };
	struct op question = { .r = r };
	const struct storm_idset *out;
	uint32_t kid[64];
	bool relays;
	int err;

	begin_domain(r, &c);
	write_to_all(r, STORM_SEC);
	storm_sim_filter(r->sim, &all, &one, 1, 3600 * STORM_SEC);
	storm_sim_run(r->sim, 2 * STORM_SEC, NULL, NULL);
	/* one that is silent is none of these */
	storm_sim_pause(r->sim, 10, 4 * STORM_SEC);
	storm_sim_run(r->sim, STORM_SEC, NULL, NULL);
	CHECK(!is_out(r), "n%u: a node is out already", node + 1);
	err = storm_owner_compare_within(storm_sim_owner(r->sim), NULL,
					 STORM_VAR_USER, STORM_GE, 0,
					 2 * STORM_SEC, &question,
					 storm_sim_now(r->sim));
	CHECK(!err, "compare: %s", storm_strerror(err));
	storm_sim_called(r->sim, STORM_NO_NODE);
	CHECK(storm_sim_run(r->sim, 3 * STORM_SEC, is_answered, &question),
	      "n%u: the question never ended", node + 1);
	CHECK(question.state == STORM_ABORTED &&
		      storm_idset_has(&unanswered, node),
	      "n%u answered", node + 1);
	CHECK(storm_idset_has(&unanswered, 10), "n11 answered");
	/* nor are those below it, whose answers it may not have heard */
	storm_tree_subtree(&storm_sim_owner(r->sim)->tree, node, &unanswered);
	relays = storm_tree_children(&storm_sim_owner(r->sim)->tree, node, kid);
	err = storm_owner_cut(storm_sim_owner(r->sim), &unanswered, true,
			      storm_sim_now(r->sim));
	CHECK(err == (relays ? STORM_OK : STORM_ENOENT) && is_out(r) == relays,
	      "n%u is above %s: %s", node + 1, relays ? "others" : "none",
	      storm_strerror(err));
	if (!relays)
		err = storm_owner_cut(storm_sim_owner(r->sim), &unanswered,
				      false, storm_sim_now(r->sim));
	CHECK(!err, "cut: %s", storm_strerror(err));
	storm_sim_called(r->sim, STORM_NO_NODE);
	storm_sim_saved(r->sim, &out);
	CHECK(storm_idset_size(out) == 1 && storm_idset_has(out, node),
	      "n%u: %u nodes are out", node + 1,
	      (unsigned int) storm_idset_size(out));
	/* whatever it says and is sent, it stays out */
	write_one(r);
	CHECK(storm_sim_run(r->sim, 3 * STORM_SEC, last_done, r) &&
		      r->op[r->ops].state == STORM_DONE,
	      "n%u: the others wait for it", node + 1);
	storm_sim_run(r->sim, 30 * STORM_SEC, NULL, NULL);
	storm_sim_saved(r->sim, &out);
	CHECK(storm_idset_size(out) == 1 && storm_idset_has(out, node),
	      "n%u: it is not the one that is out", node + 1);
	CHECK((storm_sim_saved(r->sim, &out) & 0xffff) == 1,
	      "n%u: more than one epoch", node + 1);
	storm_sim_heal(r->sim);
	CHECK(storm_sim_run(r->sim, 3 * STORM_SEC, is_in, r), "n%u is not back",
	      node + 1);
	write_to_all(r, STORM_SEC);
	end_domain(r);
}

/* Multicasts do not come to a node any more: within seconds all goes down the tree,
 * and by multicast again once they come.  No node is excluded meanwhile. */
static void hears_no_multicast(uint32_t node)
{
	struct run run = { .random = 1 }, *r = &run;
	struct storm_sim_conf c = twenty(true);
	struct storm_range one_r = { node, node };
	struct storm_idset one = { &one_r, 1, 1 };
	const struct storm_idset *out;

	begin_domain(r, &c);
	write_to_all(r, STORM_SEC);
	strobe(r);
	CHECK(strobed(r, node), "n%u: no strobe", node + 1);
	storm_sim_deafen(r->sim, &one, 3600 * STORM_SEC);
	strobe(r);
	CHECK(!strobed(r, node), "n%u: a strobe", node + 1);
	/* so long strobes are lost */
	storm_sim_run(r->sim, 7 * STORM_SEC, NULL, NULL);
	for (int i = 0; i < 10; i++) {
		strobe(r);
		CHECK(strobed(r, node), "n%u: no strobe by the tree", node + 1);
		storm_sim_run(r->sim, STORM_SEC, NULL, NULL);
	}
	write_to_all(r, 2 * STORM_SEC);
	CHECK(!storm_sim_owner(r->sim)->send.multicast, "by multicast");
	storm_sim_heal(r->sim);
	storm_sim_run(r->sim, 3 * STORM_SEC, NULL, NULL);
	CHECK(storm_sim_owner(r->sim)->send.multicast, "not by multicast");
	strobe(r);
	CHECK(strobed(r, node), "n%u: no strobe again", node + 1);
	CHECK(!(storm_sim_saved(r->sim, &out) & 0xffff) && !out->count,
	      "n%u: another epoch", node + 1);
	end_domain(r);
}

/* A node that does not run for a while says nothing of multicasts in an epoch that
 * begins meanwhile.  The others get strobes by them, also those below it. */
static void silent_in_an_epoch(void)
{
	struct run run = { .random = 1 }, *r = &run;
	struct storm_sim_conf c = twenty(true);

	begin_domain(r, &c);
	write_to_all(r, STORM_SEC);
	storm_sim_crash(r->sim, 19);
	storm_sim_run(r->sim, 35 * STORM_SEC / 10, NULL, NULL);
	/* not above n20: it would say nothing of that */
	storm_sim_pause(r->sim, 1, 45 * STORM_SEC / 10);
	CHECK(storm_sim_run(r->sim, 4 * STORM_SEC, is_out, r), "n20 is in");
	for (int i = 0; i < 20; i++) {
		strobe(r);
		for (uint32_t n = 0; n < 19; n++)
			CHECK(n == 1 || strobed(r, n), "n%u: no strobe", n + 1);
		storm_sim_run(r->sim, STORM_SEC / 5, NULL, NULL);
	}
	CHECK(storm_sim_owner(r->sim)->send.multicast, "not by multicast");
	end_domain(r);
}

/* A node that cannot take part any more says why, and is out at once.  It is in again
 * when it lets the owner's next OPEN in. */
static void leaves(uint32_t node, bool multicast)
{
	struct run run = { .random = 1 }, *r = &run;
	struct storm_sim_conf c = twenty(multicast);
	struct storm_nm *nm;
	int err;

	begin_domain(r, &c);
	write_to_all(r, STORM_SEC);
	nm = storm_sim_nm(r->sim, node);
	err = storm_nm_leave(nm, storm_sim_session(r->sim, node), STORM_EBUSY,
			     ESRCH, storm_sim_now(r->sim));
	CHECK(!err, "leave: %s", storm_strerror(err));
	storm_sim_called(r->sim, node);
	CHECK(storm_sim_run(r->sim, 100 * STORM_MS, is_out, r),
	      "n%u has left, and is in", node + 1);
	CHECK(fault.node == node && fault.why == STORM_EBUSY &&
		      fault.sys == ESRCH,
	      "n%u: %d, %d", fault.node + 1, (int) fault.why, fault.sys);
	CHECK(storm_sim_run(r->sim, 3 * STORM_SEC, is_in, r), "n%u is not back",
	      node + 1);
	write_to_all(r, STORM_SEC);
	end_domain(r);
}

static void quiet(enum storm_log_level level, const char *msg)
{
	if (getenv("STORM_VERBOSE"))
		fprintf(stderr, "%.6f: %d %s\n",
			when ? (double) storm_sim_now(when) / 1e9 : 0,
			(int) level, msg);
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 300;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	/* in the tree: at its top, in between, at its end */
	static const uint32_t places[] = { 0, 3, 19 };

	storm_log_set(quiet);
	nobody_is_left(true);
	nobody_is_left(false);
	killed_and_started(true);
	killed_and_started(false);
	killed_again_and_again();
	for (uint32_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		hears_nothing(places[i], true);
		hears_nothing(places[i], false);
		hears_no_multicast(places[i]);
		leaves(places[i], true);
		leaves(places[i], false);
	}
	silent_in_an_epoch();
	for (uint64_t seed = first; seed < first + n; seed++)
		schedule(seed);
	printf("%llu schedules of the cluster domain, no violation\n",
	       (unsigned long long) n);
	return 0;
}
