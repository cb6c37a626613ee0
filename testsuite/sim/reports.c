/*
 * reports.c - see cases.h: ids that are reported and let go of, thousands of them in
 * one domain, while one of the first stays.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>

#include "case_check.h"
#include "cases.h"
#include "src/libstorm/base/chance.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/protocol/nm/nm_private.h"
#include "src/libstorm/protocol/owner/owner_private.h"
#include "src/storm_sim/engine/sim.h"

#define KIND 1
#define ROUNDS 48  /* of work */
#define TELL_ALL 8 /* of them, until all nodes are told what is over */
#define WORKS (2 * ROUNDS)
#define TASKS 1200 /* of one, at most */
#define IDS (1 + WORKS * TASKS)
#define STAYS 0 /* the id of a task that runs all the time */

/* Tasks with ids that follow each other, on some nodes. */
struct work {
	uint32_t first, last;
};

struct tale {
	struct storm_sim *sim;
	uint64_t chance, seed;
	uint32_t nodes;
	bool opened, open_ok;
	struct storm_idset said, heard, past;
	uint32_t code[IDS], next;
	struct work work[WORKS];
	uint32_t works;
	struct storm_idset lost; /* nodes */
};

static void on_opened(void *arg, struct storm_outcome *out)
{
	struct tale *t = arg;

	t->opened = true;
	t->open_ok = out->state == STORM_DONE;
	storm_outcome_clear(out);
}

/* Each id once, as it was reported, and none that was let go of. */
static void on_report(void *arg, const struct storm_report *rep)
{
	struct tale *t = arg;

	for (uint32_t k = 0; k < rep->ids.count; k++)
		for (uint32_t id = rep->ids.r[k].first;
		     id <= rep->ids.r[k].last; id++) {
			CHECK(storm_idset_has(&t->said, id),
			      "seed %llu: %u is heard, and was not reported",
			      (unsigned long long) t->seed, id);
			CHECK(!storm_idset_has(&t->heard, id),
			      "seed %llu: %u is heard twice",
			      (unsigned long long) t->seed, id);
			CHECK(!storm_idset_has(&t->past, id),
			      "seed %llu: %u is heard, and was let go of",
			      (unsigned long long) t->seed, id);
			CHECK(rep->kind == KIND && rep->code == t->code[id],
			      "seed %llu: %u has the code %u",
			      (unsigned long long) t->seed, id, rep->code);
			storm_idset_add(&t->heard, id, id);
		}
}

static void on_fault(void *arg, const struct storm_fault *f)
{
	struct tale *t = arg;

	storm_idset_add(&t->lost, f->node, f->node);
}

static const struct storm_owner_ops ops = {
	.opened = on_opened,
	.report = on_report,
	.fault = on_fault,
};

static bool is_opened(void *arg)
{
	return ((struct tale *) arg)->opened;
}

static bool all_heard(void *arg)
{
	const struct tale *t = arg;
	struct storm_idset rest = { 0 };
	bool all;

	storm_idset_minus(&t->said, &t->past, &rest);
	all = storm_idset_covers(&t->heard, &rest);
	storm_idset_clear(&rest);
	return all;
}

static bool some_lost(void *arg)
{
	return ((struct tale *) arg)->lost.count > 0;
}

static void begin(struct tale *t, const struct storm_sim_conf *c)
{
	t->seed = c->seed;
	t->nodes = c->nodes;
	t->sim = storm_sim_create(c, &ops, t);
	CHECK(!storm_owner_open(storm_sim_owner(t->sim), storm_sim_now(t->sim)),
	      "open");
	storm_sim_called(t->sim, STORM_NO_NODE);
	CHECK(storm_sim_run(t->sim, 20 * STORM_SEC, is_opened, t) && t->open_ok,
	      "seed %llu: OPEN failed", (unsigned long long) t->seed);
}

static void end(struct tale *t)
{
	storm_sim_destroy(t->sim);
	storm_idset_clear(&t->said);
	storm_idset_clear(&t->heard);
	storm_idset_clear(&t->past);
	storm_idset_clear(&t->lost);
}

static void say(struct tale *t, uint32_t node, uint32_t code,
		const struct storm_idset *ids)
{
	if (!ids->count)
		return;
	for (uint32_t k = 0; k < ids->count; k++)
		for (uint32_t id = ids->r[k].first; id <= ids->r[k].last; id++)
			t->code[id] = code;
	storm_idset_union(&t->said, ids);
	CHECK(!storm_nm_report(storm_sim_nm(t->sim, node),
			       storm_sim_session(t->sim, node), KIND, code, ids,
			       storm_sim_now(t->sim)),
	      "n%u", node + 1);
	storm_sim_called(t->sim, node);
}

/* What the owner knows to be over. */
static void owner_forgets(struct tale *t)
{
	CHECK(!storm_owner_report_forget(storm_sim_owner(t->sim), KIND,
					 &t->past),
	      "the owner");
	storm_sim_called(t->sim, STORM_NO_NODE);
}

static void node_forgets(struct tale *t, uint32_t node,
			 const struct storm_idset *past)
{
	CHECK(!storm_nm_report_forget(storm_sim_nm(t->sim, node),
				      storm_sim_session(t->sim, node), KIND,
				      past),
	      "n%u", node + 1);
	storm_sim_called(t->sim, node);
}

static uint32_t any(struct tale *t, uint32_t n)
{
	return (uint32_t) storm_chance_below(&t->chance, n);
}

/* Tasks on nodes that take turns: each has ids with gaps between them.  They end at
 * once, or in two parts. */
static void work(struct tale *t, uint32_t most)
{
	uint32_t tasks = most / 2 + 1 + any(t, most / 2);
	uint32_t width = 1 + any(t, t->nodes), from = any(t, t->nodes);
	uint32_t code = any(t, 3) ? 0 : 256, parts = 1 + any(t, 2);
	struct work *w = &t->work[t->works++];

	*w = (struct work) { t->next, t->next + tasks - 1 };
	t->next += tasks;
	for (uint32_t part = 0; part < parts; part++)
		for (uint32_t k = 0; k < width && k < tasks; k++) {
			struct storm_idset ids = { 0 };

			for (uint32_t i = k; i < tasks; i += width)
				if (i / width % parts == part)
					storm_idset_add(&ids, w->first + i,
							w->first + i);
			say(t, (from + k) % t->nodes, code, &ids);
			storm_idset_clear(&ids);
			if (!any(t, 4))
				storm_sim_run(t->sim, any(t, 3 * STORM_MS),
					      NULL, NULL);
		}
}

/* What all tasks are heard of is over.  So is now and then what nobody waits for any
 * more. */
static void work_ends(struct tale *t)
{
	for (uint32_t i = 0; i < t->works; i++) {
		struct storm_range r = { t->work[i].first, t->work[i].last };
		const struct storm_idset ids = { &r, 1, 1 };

		if (storm_idset_covers(&t->heard, &ids) || !any(t, 60))
			storm_idset_union(&t->past, &ids);
	}
	owner_forgets(t);
}

static uint64_t ids_kept(const struct storm_reports *r)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->count; i++)
		n += storm_idset_size(&r->e[i].ids);
	return n;
}

/* Nodes that know all that is over send no more than the rest. */
static void all_forget(struct tale *t)
{
	uint64_t rest = t->next - storm_idset_size(&t->past);

	for (uint32_t i = 0; i < t->nodes; i++) {
		const struct nm_report *r;

		node_forgets(t, i, &t->past);
		r = &storm_sim_nm(t->sim, i)->sessions->report;
		CHECK(ids_kept(&r->all) <= rest && ids_kept(&r->mine) <= rest,
		      "seed %llu: n%u keeps %u of %u ids",
		      (unsigned long long) t->seed, i + 1,
		      (unsigned int) ids_kept(&r->all), (unsigned int) rest);
	}
	CHECK(ids_kept(&storm_sim_owner(t->sim)->reports.got) <= rest,
	      "seed %llu: the owner keeps ids", (unsigned long long) t->seed);
}

static void some_forget(struct tale *t, struct storm_idset *before)
{
	for (uint32_t i = 0; i < t->nodes; i++)
		if (!any(t, 3))
			node_forgets(t, i, any(t, 3) ? &t->past : before);
	if (!any(t, 3))
		storm_idset_union(before, &t->past);
}

/* Reports of several parts, which no later ones put right: all of it is heard, while
 * nodes forget what was before. */
static void all_heard_again(struct tale *t, struct storm_idset *before)
{
	work(t, 40);
	work(t, TASKS);
	for (int more = 0; more < 400 && !all_heard(t); more++) {
		storm_sim_run(t->sim, any(t, 150 * STORM_MS), all_heard, t);
		work_ends(t);
		some_forget(t, before);
	}
	CHECK(all_heard(t), "seed %llu: an id of %u is not heard, %u are",
	      (unsigned long long) t->seed, t->next,
	      (unsigned int) storm_idset_size(&t->heard));
}

/* One id is left: what is remembered of all others has no size. */
static void one_is_left(struct tale *t)
{
	const struct storm_owner *o = storm_sim_owner(t->sim);
	struct storm_idset ids = { 0 };

	CHECK(storm_idset_size(&t->past) == t->next - 1, "more is left");
	storm_sim_run(t->sim, 10 * STORM_SEC, NULL, NULL);
	for (uint32_t i = 0; i < t->nodes; i++) {
		const struct nm_report *r =
			&storm_sim_nm(t->sim, i)->sessions->report;

		CHECK(!r->all.count && !r->mine.count &&
			      r->all.forgotten[KIND].count == 1 &&
			      r->acked[KIND].count <= 1,
		      "seed %llu: n%u keeps %u, %u, %u, %u ranges",
		      (unsigned long long) t->seed, i + 1, r->all.count,
		      r->mine.count, r->all.forgotten[KIND].count,
		      r->acked[KIND].count);
	}
	CHECK(!o->reports.got.count &&
		      o->reports.got.forgotten[KIND].count == 1,
	      "seed %llu: the owner keeps something",
	      (unsigned long long) t->seed);
	storm_idset_add(&ids, STAYS, STAYS);
	say(t, any(t, t->nodes), 7, &ids);
	storm_idset_clear(&ids);
	CHECK(storm_sim_run(t->sim, 20 * STORM_SEC, all_heard, t),
	      "seed %llu: the last one is not heard",
	      (unsigned long long) t->seed);
}

void case_forgetting(uint64_t seed)
{
	static struct tale tale;
	struct tale *t = &tale;
	struct storm_sim_conf c = { .seed = seed, .mtu = 1472 };
	struct storm_idset before = { 0 }; /* told late, too */

	*t = (struct tale) { .chance = seed * 7919 + 1, .next = STAYS + 1 };
	c.nodes = 1 + any(t, 30);
	storm_settings_default(&c.set);
	c.set.radix = 2 + any(t, 3);
	c.latency = 20 * STORM_US + any(t, 300 * STORM_US);
	c.jitter = any(t, 500 * STORM_US);
	c.multicast = any(t, 2);
	c.loss_ppm = any(t, 4) * 70000;
	c.dup_ppm = any(t, 2) * 50000;
	c.late_ppm = any(t, 2) * 50000;
	c.late = 20 * STORM_MS;
	begin(t, &c);
	for (uint32_t n = 1; n <= ROUNDS; n++) {
		work(t, 40);
		storm_sim_run(t->sim, any(t, STORM_MS << any(t, 9)), NULL,
			      NULL);
		work_ends(t);
		some_forget(t, &before);
		if (n % TELL_ALL)
			continue;
		all_forget(t);
		all_heard_again(t, &before);
	}
	all_heard_again(t, &before);
	work_ends(t);
	all_forget(t);
	one_is_left(t);
	CHECK(!t->lost.count, "seed %llu: n%u is lost",
	      (unsigned long long) seed, t->lost.r[0].first + 1);
	storm_idset_clear(&before);
	end(t);
}

/* A report of three parts, of which long ones are lost.  Then some of it is let go of,
 * and what is left has fewer parts, or as many. */
static void forgotten_on_its_way(uint32_t below)
{
	enum { NODES = 1, SAID = 400 };
	static struct tale tale;
	struct tale *t = &tale;
	struct storm_sim_conf c = {
		.seed = 1, .nodes = NODES, .mtu = 1472, .latency = 50 * STORM_US
	};
	struct storm_idset node = { 0 }, owner = { 0 }, ids = { 0 };

	*t = (struct tale) { 0 };
	storm_settings_default(&c.set);
	begin(t, &c);
	storm_idset_add(&node, 0, 0);
	storm_idset_add(&owner, NODES, NODES);
	storm_sim_filter(t->sim, &node, &owner, 1100, 3600 * STORM_SEC);
	for (uint32_t i = 0; i < SAID; i++)
		storm_idset_add(&ids, 2 * i, 2 * i);
	say(t, 0, 0, &ids);
	storm_sim_run(t->sim, STORM_SEC, NULL, NULL);
	CHECK(!t->heard.count, "long ones pass");
	storm_idset_add(&t->past, 0, below - 1);
	owner_forgets(t);
	node_forgets(t, 0, &t->past);
	storm_sim_heal(t->sim);
	CHECK(storm_sim_run(t->sim, 10 * STORM_SEC, all_heard, t),
	      "below %u: %u are heard", below,
	      (unsigned int) storm_idset_size(&t->heard));
	storm_idset_clear(&node);
	storm_idset_clear(&owner);
	storm_idset_clear(&ids);
	end(t);
}

void case_forgotten_on_its_way(void)
{
	forgotten_on_its_way(60);
	forgotten_on_its_way(500);
}

/* More than can be reported: the owner does not wait for it in vain. */
void case_too_many_reports(void)
{
	enum { NODES = 7, VICTIM = 6 };
	static struct tale tale;
	struct tale *t = &tale;
	struct storm_sim_conf c = {
		.seed = 1, .nodes = NODES, .mtu = 1472, .latency = 50 * STORM_US
	};
	struct storm_idset ids = { 0 };

	*t = (struct tale) { 0 };
	storm_settings_default(&c.set);
	c.set.radix = 2;
	begin(t, &c);
	for (uint32_t i = 0; i <= STORM_REPORTS_MAX / 8; i++)
		storm_idset_add(&ids, 2 * i, 2 * i);
	CHECK(!storm_nm_report(storm_sim_nm(t->sim, VICTIM),
			       storm_sim_session(t->sim, VICTIM), KIND, 0, &ids,
			       storm_sim_now(t->sim)),
	      "n%u", VICTIM + 1);
	storm_sim_called(t->sim, VICTIM);
	CHECK(storm_sim_run(t->sim, STORM_SEC, some_lost, t), "n%u is not lost",
	      VICTIM + 1);
	storm_sim_run(t->sim, 20 * STORM_SEC, NULL, NULL);
	CHECK(storm_idset_size(&t->lost) == 1 &&
		      storm_idset_has(&t->lost, VICTIM),
	      "others than n%u are lost", VICTIM + 1);
	CHECK(!t->heard.count, "some of it is heard");
	storm_idset_clear(&ids);
	end(t);
}
