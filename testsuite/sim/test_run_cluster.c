/*
 * test_run_cluster.c - storm run's head on simulated launchers: what runs.h decides and
 * run_wire.h writes, carried by the real domain.  By chance runs of all shapes come, end
 * task by task, fail, are killed or lose a node.  Each is judged by what its tasks did.
 * A second part counts what one run costs the head on few nodes and on 16,384.
 *
 * usage: test_run_cluster [SEED [SEEDS]]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_check.h"
#include "src/libstorm/base/chance.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/protocol/owner/owner_private.h"
#include "src/storm_launcher/run_names.h"
#include "src/storm_launcher/run_wire.h"
#include "src/storm_launcher/runs.h"
#include "src/storm_sim/engine/sim.h"

#define SEEDS 30
#define RUNS 60		    /* of a play */
#define PATIENCE 120	    /* s that all of them may take */
#define HOLD (STORM_MS / 2) /* of reports, as launchers have it */
#define EVENT 1
#define ARGUMENTS 600 /* bytes of a run_what, which nobody here reads */
#define LARGEST 16384

/* Tasks of a run on a launcher that have not ended. */
struct held {
	struct held *next;
	uint64_t number;
	uint32_t cpus; /* of each task */
	struct storm_idset ids;
};

struct launcher {
	uint32_t heard; /* events */
	uint32_t cpus;
	bool dead;
	struct held *held;
};

/* Tasks that end together, at a time. */
struct end {
	uint64_t at;
	uint32_t node, code;
	uint64_t number;
	uint32_t first, last; /* ids */
};

/* What is to become of a run, as its tasks did it. */
struct fate {
	bool began, over, left, lost;
	uint32_t tasks, ended;
	int status, sig; /* the highest of each kind */
};

struct cast {
	uint64_t run;
	uint8_t buf[];
};

struct play {
	struct storm_sim *sim;
	uint64_t chance, seed;
	uint32_t nodes;
	struct storm_node *name;
	char (*text)[16];
	struct launcher *launcher;
	struct runs runs;
	struct end *end; /* a heap, the next one first */
	uint32_t ends, room;
	uint32_t *news, count; /* nodes that have events */
	bool opened, ends_now;
	uint64_t last; /* number of the run that began last */
	uint32_t asked, over;
	struct fate fate[RUNS + 1]; /* by the run's number */
	uint64_t longest;	    /* ns of a task */
	bool all_well;
};

static uint32_t any(struct play *p, uint32_t n)
{
	return (uint32_t) storm_chance_below(&p->chance, n);
}

static uint64_t now(const struct play *p)
{
	return storm_sim_now(p->sim);
}

/* ---------------------------------------------------------------- the heap --- */

static void end_swap(struct play *p, uint32_t a, uint32_t b)
{
	struct end e = p->end[a];

	p->end[a] = p->end[b];
	p->end[b] = e;
}

static void end_add(struct play *p, struct end e)
{
	uint32_t k = p->ends;

	if (p->ends == p->room) {
		p->room = p->room ? 2 * p->room : 64;
		p->end = realloc(p->end, p->room * sizeof(*p->end));
		CHECK(p->end, "no memory");
	}
	p->end[p->ends++] = e;
	for (; k && p->end[k].at < p->end[(k - 1) / 2].at; k = (k - 1) / 2)
		end_swap(p, k, (k - 1) / 2);
}

static struct end end_take(struct play *p)
{
	struct end e = p->end[0];
	uint32_t k = 0, least = 0;

	p->end[0] = p->end[--p->ends];
	for (;; k = least) {
		for (uint32_t c = 2 * k + 1; c <= 2 * k + 2 && c < p->ends; c++)
			if (p->end[c].at < p->end[least].at)
				least = c;
		if (least == k)
			return e;
		end_swap(p, k, least);
	}
}

/* --------------------------------------------------------------- launchers --- */

static struct held *held_find(struct launcher *l, uint64_t number)
{
	struct held *h = l->held;

	while (h && h->number != number)
		h = h->next;
	return h;
}

static void held_drop(struct launcher *l, struct held *h)
{
	struct held **at = &l->held;

	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	storm_idset_clear(&h->ids);
	free(h);
}

static void node_forget(struct play *p, uint32_t node,
			const struct storm_idset *past)
{
	CHECK(!storm_nm_report_forget(storm_sim_nm(p->sim, node),
				      storm_sim_session(p->sim, node),
				      RUN_REPORT, past),
	      "n%u", node + 1);
	storm_sim_called(p->sim, node);
}

/* Those of these tasks that have not ended end now. */
static void node_ends(struct play *p, const struct end *e)
{
	struct launcher *l = &p->launcher[e->node];
	struct fate *f = &p->fate[e->number];
	struct held *h = held_find(l, e->number);
	struct storm_range r = { e->first, e->last };
	struct storm_idset these = { &r, 1, 1 }, rest = { 0 }, ids = { 0 };
	int status = run_code_status(e->code);

	if (!h || l->dead)
		return;
	storm_idset_minus(&h->ids, &these, &rest);
	storm_idset_minus(&h->ids, &rest, &ids);
	storm_idset_clear(&h->ids);
	h->ids = rest;
	if (ids.count) {
		f->ended += (uint32_t) storm_idset_size(&ids);
		if (run_code_is_signal(e->code))
			f->sig = status > f->sig ? status : f->sig;
		else
			f->status = status > f->status ? status : f->status;
		CHECK(!storm_nm_report(storm_sim_nm(p->sim, e->node),
				       storm_sim_session(p->sim, e->node),
				       RUN_REPORT, e->code, &ids, now(p)),
		      "n%u", e->node + 1);
		storm_sim_called(p->sim, e->node);
	}
	storm_idset_clear(&ids);
	if (!rest.count)
		held_drop(l, h);
}

static uint32_t any_code(struct play *p)
{
	if (p->all_well || any(p, 8))
		return run_code(RUN_EXITED, 0);
	switch (any(p, 3)) {
	case 0:
		return run_code(RUN_SIGNALED, SIGSEGV);
	case 1:
		return run_code(RUN_NOT_STARTED, 2);
	default:
		return run_code(RUN_EXITED, 1 + (int) any(p, 40));
	}
}

/* Tasks of a run begin here.  No CPU has two. */
static void node_starts(struct play *p, uint32_t node, struct storm_in *in)
{
	struct launcher *l = &p->launcher[node];
	struct run_start s;
	uint32_t nth, first, n, used = 0;
	struct held *h;

	CHECK(run_start_get(in, &s), "seed %llu: a start cannot be read",
	      (unsigned long long) p->seed);
	node_forget(p, node, &s.past);
	nth = run_place(&s.nodes, node);
	if (nth == UINT32_MAX) {
		run_start_free(&s);
		return;
	}
	CHECK(!held_find(l, s.number), "run %u begins twice on n%u",
	      (unsigned int) s.number, node + 1);
	first = s.first + s.rank[nth];
	n = s.rank[nth + 1] - s.rank[nth];
	h = calloc(1, sizeof(*h));
	CHECK(h && n, "run %u has no task on n%u", (unsigned int) s.number,
	      node + 1);
	*h = (struct held) { l->held, s.number, s.cpus ? s.cpus : 1, { 0 } };
	storm_idset_add(&h->ids, first, first + n - 1);
	l->held = h;
	for (h = l->held; h; h = h->next)
		used += h->cpus * (uint32_t) storm_idset_size(&h->ids);
	CHECK(used <= l->cpus, "seed %llu: n%u has %u CPUs, %u are used",
	      (unsigned long long) p->seed, node + 1, l->cpus, used);
	for (uint32_t k = 0; k < n; k++)
		end_add(p,
			(struct end) { now(p) + any(p, (uint32_t) p->longest),
				       node, any_code(p), s.number, first + k,
				       first + k });
	run_start_free(&s);
}

static void node_kills(struct play *p, uint32_t node, uint64_t number,
		       uint8_t sig)
{
	struct held *h = held_find(&p->launcher[node], number);

	if (h)
		end_add(p, (struct end) { now(p) + any(p, STORM_MS), node,
					  run_code(RUN_SIGNALED, sig), number,
					  0, RUNS_IDS_MAX });
}

static void node_hears(struct play *p, uint32_t node,
		       const struct storm_sim_seen *seen)
{
	struct storm_in in = { seen->data, seen->data + seen->len, false };
	uint8_t kind;

	storm_get(&in, RUN_KEY);
	kind = storm_get8(&in);
	if (kind == RUN_START) {
		node_starts(p, node, &in);
	} else if (kind == RUN_KILL) {
		uint64_t number = storm_get64(&in);

		node_kills(p, node, number, storm_get8(&in));
	} else {
		struct storm_idset past = { 0 };

		CHECK(kind == RUN_PAST, "kind %u", kind);
		storm_get_set(&in, &past, UINT32_MAX - 1);
		node_forget(p, node, &past);
		storm_idset_clear(&past);
	}
}

static void nodes_hear(struct play *p)
{
	while (p->count) {
		uint32_t node = p->news[--p->count], count;
		struct launcher *l = &p->launcher[node];

		while (storm_sim_events(p->sim, node, &count),
		       l->heard < count) {
			const struct storm_sim_seen *all =
				storm_sim_events(p->sim, node, &count);

			node_hears(p, node, &all[l->heard++]);
		}
	}
}

static void on_turn(void *arg, uint32_t node, uint32_t from)
{
	struct play *p = arg;
	uint32_t count;

	(void) from;
	if (node >= p->nodes || p->launcher[node].dead)
		return;
	storm_sim_events(p->sim, node, &count);
	if (count > p->launcher[node].heard) {
		CHECK(p->count < p->nodes, "news of more nodes than there are");
		p->news[p->count++] = node;
	}
}

static bool is_due(void *arg)
{
	const struct play *p = arg;

	return p->count || (p->ends && p->end[0].at <= now(p));
}

/* ---------------------------------------------------------------- the head --- */

static void on_opened(void *arg, struct storm_outcome *out)
{
	struct play *p = arg;

	p->opened = out->state == STORM_DONE;
	storm_outcome_clear(out);
}

static void on_xfer(void *arg, void *token, struct storm_outcome *out)
{
	struct play *p = arg;
	struct cast *c = token;
	struct user_run *run = runs_find(&p->runs, c->run);

	/* a node is lost: it is its fault that says what becomes of the run */
	CHECK(p->ends_now || out->state == STORM_DONE || p->runs.lost.count ||
		      out->faults_kept,
	      "seed %llu: a message of run %u fails",
	      (unsigned long long) p->seed, (unsigned int) c->run);
	if (out->state != STORM_DONE && run && run->state == RUN_RUNS &&
	    c->buf[RUN_KEY] == RUN_START) {
		p->fate[c->run].left = true;
		runs_abort(run);
	}
	storm_outcome_clear(out);
	free(c);
}

static void on_report(void *arg, const struct storm_report *rep)
{
	struct play *p = arg;

	CHECK(rep->kind == RUN_REPORT, "kind %u", rep->kind);
	CHECK(runs_report(&p->runs, rep->code, &rep->ids), "no memory");
}

/* A run that has tasks there loses them, unless it knows that they have ended. */
static void on_fault(void *arg, const struct storm_fault *f)
{
	struct play *p = arg;
	uint32_t first, last;

	for (struct user_run *run = p->runs.first; run; run = run->next)
		if (run->state == RUN_RUNS &&
		    run_ranks_on(run, f->node, &first, &last) &&
		    !run_ranks_done(run, first, last))
			p->fate[run->number].lost = true;
	runs_lose(&p->runs, f->node);
}

static const struct storm_owner_ops ops = {
	.opened = on_opened,
	.xfer_done = on_xfer,
	.report = on_report,
	.fault = on_fault,
};

/* To a run's nodes but the lost ones, or with NULL to all. */
static void head_casts(struct play *p, const struct user_run *run,
		       const struct storm_out *o, struct cast *c)
{
	const struct storm_target to = { .kind = STORM_TARGET_MEMORY,
					 .remote_event = EVENT };
	struct storm_range r = { 0, p->nodes - 1 };
	const struct storm_idset all = { &r, 1, 1 };
	struct storm_idset P = { 0 };
	uint8_t kind = c->buf[RUN_KEY];

	CHECK(!o->bad, "a message is longer than it said");
	c->run = run ? run->number : 0;
	storm_idset_minus(run ? &run->nodes : &all, &p->runs.lost, &P);
	if (!P.count) {
		free(c);
		return;
	}
	CHECK(!storm_owner_xfer(storm_sim_owner(p->sim), &P, &to, c->buf,
				(uint64_t) (o->p - c->buf), c, now(p)),
	      "kind %u is not sent", kind);
	storm_sim_called(p->sim, STORM_NO_NODE);
	storm_idset_clear(&P);
}

static struct cast *head_message(enum run_kind kind, size_t rest,
				 struct storm_out *o)
{
	struct cast *c = calloc(1, sizeof(*c) + RUN_KEY + 1 + rest);

	CHECK(c, "no memory");
	*o = (struct storm_out) { c->buf, c->buf + RUN_KEY + 1 + rest, false };
	o->p += RUN_KEY;
	storm_put8(o, (uint8_t) kind);
	return c;
}

static void head_starts(struct play *p, struct user_run *run)
{
	char *names = run_names_text(p->name, &run->nodes);
	struct run_start s = { .number = run->number,
			       .first = run->first,
			       .tasks = run->tasks,
			       .nodes = run->nodes,
			       .rank = run->rank,
			       .cpus = run->cpus,
			       .names = names,
			       .local = STORM_NO_NODE };
	struct storm_out o;
	struct cast *c;

	CHECK(run->number > p->last, "run %u overtakes",
	      (unsigned int) p->last);
	p->last = run->number;
	p->fate[run->number].began = true;
	p->fate[run->number].tasks = run->tasks;
	CHECK(names && !runs_past(&p->runs, RUN_PAST_RANGES, &s.past),
	      "no memory");
	if (run->whole)
		s.cpus =
			1; /* of a launcher's count: the one task has them all */
	c = head_message(RUN_START, run_start_len(&s) + ARGUMENTS, &o);
	run_start_put(&o, &s);
	o.p += ARGUMENTS;
	head_casts(p, run, &o, c);
	storm_idset_clear(&s.past);
	free(names);
}

static void head_kills(struct play *p, struct user_run *run)
{
	struct storm_out o;
	struct cast *c = head_message(RUN_KILL, 8 + 1, &o);

	run->kill = false;
	storm_put64(&o, run->number);
	storm_put8(&o, SIGKILL);
	head_casts(p, run, &o, c);
}

/* The status is that of its tasks, and none was counted twice. */
static void head_judges(struct play *p, const struct user_run *run)
{
	struct fate *f = &p->fate[run->number];
	int status = f->sig ? f->sig : f->status;

	p->over++;
	CHECK(!f->over, "run %u is over twice", (unsigned int) run->number);
	f->over = true;
	if (f->left || f->lost) {
		CHECK(run_status(run),
		      "seed %llu: run %u lost a node or its client, and is well",
		      (unsigned long long) p->seed, (unsigned int) run->number);
		return;
	}
	CHECK(f->ended == f->tasks && run_status(run) == status,
	      "seed %llu: run %u: %u of %u tasks have ended with %d, it says %d",
	      (unsigned long long) p->seed, (unsigned int) run->number,
	      f->ended, f->tasks, status, run_status(run));
}

/* It takes no more runs: clients of those that wait ask the next head. */
static void head_sends_away(struct play *p)
{
	for (struct user_run *run = p->runs.first; run; run = run->next)
		if (run->state == RUN_WAITS) {
			p->fate[run->number].left = true;
			runs_leave(&p->runs, run);
		}
}

/* As the head's loop: what is over, what is killed, what begins. */
static void head_decides(struct play *p)
{
	struct storm_idset past = { 0 };
	struct user_run *run;
	bool some = false;

	while ((run = runs_to_kill(&p->runs)))
		head_kills(p, run);
	while ((run = runs_over(&p->runs))) {
		head_judges(p, run);
		runs_drop(&p->runs, run);
		some = true;
	}
	if (some) {
		CHECK(!runs_past(&p->runs, UINT32_MAX, &past), "no memory");
		storm_owner_report_forget(storm_sim_owner(p->sim), RUN_REPORT,
					  &past);
		storm_sim_called(p->sim, STORM_NO_NODE);
		if (!any(p, 8) && !p->runs.closing) {
			struct storm_out o;
			struct cast *c = head_message(RUN_PAST,
						      storm_set_len(&past), &o);

			storm_put_set(&o, &past);
			head_casts(p, NULL, &o, c);
		}
		storm_idset_clear(&past);
	}
	while ((run = runs_begin(&p->runs)))
		head_starts(p, run);
	if (p->runs.closing)
		head_sends_away(p);
}

/* Let all that is due happen, for so many ns. */
static void go_on(struct play *p, uint64_t ns)
{
	uint64_t until = now(p) + ns, next;

	do {
		head_decides(p);
		next = p->ends && p->end[0].at < until ? p->end[0].at : until;
		storm_sim_run(p->sim, next > now(p) ? next - now(p) : 0, is_due,
			      p);
		nodes_hear(p);
		while (p->ends && p->end[0].at <= now(p)) {
			struct end e = end_take(p);

			node_ends(p, &e);
		}
		if (!p->runs.first)
			return;
	} while (now(p) < until);
}

/* ------------------------------------------------------------------- plays --- */

static void play_begin(struct play *p, const struct storm_sim_conf *c,
		       uint32_t cpus_most)
{
	const struct storm_sim_watch watch = { .after = on_turn, .arg = p };
	uint32_t *cpus = calloc(c->nodes, sizeof(*cpus));

	p->nodes = c->nodes;
	p->launcher = calloc(c->nodes, sizeof(*p->launcher));
	p->name = calloc(c->nodes, sizeof(*p->name));
	p->text = calloc(c->nodes, sizeof(*p->text));
	p->news = calloc(c->nodes, sizeof(*p->news));
	CHECK(cpus && p->launcher && p->name && p->text && p->news,
	      "no memory");
	for (uint32_t n = 0; n < c->nodes; n++) {
		p->launcher[n].cpus = cpus[n] = 1 + any(p, cpus_most);
		snprintf(p->text[n], sizeof(p->text[n]), "n%u", n + 1);
		p->name[n].name = p->text[n];
	}
	CHECK(!runs_init(&p->runs, c->nodes, cpus), "no memory");
	free(cpus);
	p->sim = storm_sim_create(c, &ops, p);
	storm_sim_watch(p->sim, &watch);
	CHECK(!storm_owner_open(storm_sim_owner(p->sim), now(p)), "open");
	storm_sim_called(p->sim, STORM_NO_NODE);
	for (int k = 0; k < 40 && !p->opened; k++)
		storm_sim_run(p->sim, STORM_SEC / 2, NULL, NULL);
	CHECK(p->opened, "seed %llu: OPEN failed",
	      (unsigned long long) p->seed);
	for (uint32_t n = 0; n < c->nodes; n++) {
		CHECK(!storm_nm_report_hold(storm_sim_nm(p->sim, n),
					    storm_sim_session(p->sim, n), HOLD),
		      "n%u", n + 1);
		storm_sim_called(p->sim, n);
	}
}

static void play_end(struct play *p)
{
	p->ends_now = true;
	for (uint32_t n = 0; n < p->nodes; n++)
		while (p->launcher[n].held)
			held_drop(&p->launcher[n], p->launcher[n].held);
	storm_sim_destroy(p->sim);
	runs_fini(&p->runs);
	free(p->end);
	free(p->launcher);
	free(p->name);
	free(p->text);
	free(p->news);
}

/* A run of any shape; the job may be too small for it. */
static void play_asks(struct play *p)
{
	struct run_want want = { .nodes = any(p, 3) ? any(p, p->nodes + 2) : 0,
				 .tasks = any(p, 3) ? any(p, 3 * p->nodes) : 0,
				 .cpus = any(p, 3) };
	struct user_run *run;
	char why[200];

	if (p->runs.closing)
		return;
	if (!any(p, 6))
		want = (struct run_want) { .nodes = 1 + any(p, p->nodes),
					   .whole = true };
	if (!any(p, 4)) {
		uint32_t n = any(p, p->nodes);

		storm_idset_add(any(p, 2) ? &want.with : &want.never, n, n);
	}
	run = runs_add(&p->runs, &want, p, why, sizeof(why));
	CHECK(run || *why, "no memory");
	if (run) {
		CHECK(run->number <= RUNS, "more runs than there are");
		run->keep = !any(p, 4);
		p->asked++;
	}
	storm_idset_clear(&want.with);
	storm_idset_clear(&want.never);
}

/* A client that leaves, or kills its run. */
static void play_leaves(struct play *p)
{
	struct user_run *run = p->runs.first;

	for (uint32_t k = any(p, 5); run && k; k--)
		run = run->next;
	if (!run || run->state == RUN_IS_OVER)
		return;
	if (run->state == RUN_WAITS)
		p->fate[run->number].left = true;
	runs_leave(&p->runs, run);
}

static void play_crashes(struct play *p)
{
	uint32_t node = any(p, p->nodes);

	storm_sim_crash(p->sim, node);
	p->launcher[node].dead = true;
}

/* All CPUs are free again, and nothing of a run is left. */
static void play_is_over(struct play *p)
{
	const struct storm_owner *o = storm_sim_owner(p->sim);
	struct run_stocks all;

	for (int k = 0; k < PATIENCE && p->runs.first; k++)
		go_on(p, STORM_SEC);
	if (p->runs.first)
		CHECK(false,
		      "seed %llu: run %u does not end, state %d, %llu of %u tasks",
		      (unsigned long long) p->seed,
		      (unsigned int) p->runs.first->number,
		      p->runs.first->state,
		      (unsigned long long) storm_idset_size(
			      &p->runs.first->done),
		      p->runs.first->tasks);
	CHECK(p->over == p->asked, "%u of %u are over", p->over, p->asked);
	if (p->runs.lost.count)
		return;
	runs_sum(&p->runs, &all);
	CHECK(all.cpus == all.free_cpus && all.gpus == all.free_gpus &&
		      all.mem == all.free_mem,
	      "seed %llu: CPUs are not given back",
	      (unsigned long long) p->seed);
	CHECK(!o->reports.got.count, "seed %llu: the owner keeps reports",
	      (unsigned long long) p->seed);
	for (uint32_t n = 0; n < p->nodes; n++)
		CHECK(!p->launcher[n].held, "seed %llu: n%u has tasks",
		      (unsigned long long) p->seed, n + 1);
}

static void by_chance(uint64_t seed)
{
	static struct play play;
	struct play *p = &play;
	struct storm_sim_conf c = { .seed = seed, .mtu = 1472 };
	uint32_t crash;

	*p = (struct play) { .seed = seed, .chance = seed * 7919 + 3 };
	storm_settings_default(&c.set);
	c.nodes = 1 + any(p, 40);
	c.set.radix = 2 + any(p, 3);
	c.set.dead_timeout = STORM_SEC;
	c.set.heartbeat = STORM_SEC / 4;
	c.latency = 20 * STORM_US + any(p, 300 * STORM_US);
	c.jitter = any(p, 500 * STORM_US);
	c.multicast = any(p, 2);
	c.loss_ppm = any(p, 3) * 50000;
	c.dup_ppm = any(p, 2) * 50000;
	p->longest = STORM_MS << any(p, 8);
	crash = any(p, 2) ? any(p, RUNS) : RUNS;
	play_begin(p, &c, 4);
	for (uint32_t k = 0; k < RUNS; k++) {
		play_asks(p);
		if (!any(p, 10))
			play_leaves(p);
		if (k == crash)
			play_crashes(p);
		if (any(p, 3))
			go_on(p, any(p, STORM_MS << any(p, 7)));
	}
	play_is_over(p);
	play_end(p);
}

/* One run of a task on each node, when one was before it. */
static uint64_t cost(uint32_t nodes)
{
	static struct play play;
	struct play *p = &play;
	struct storm_sim_conf c = { .seed = 1,
				    .nodes = nodes,
				    .mtu = 1472,
				    .multicast = true,
				    .frames = true,
				    .latency = 20 * STORM_US,
				    .bandwidth = 1.25e9 };
	const struct run_want want = { .nodes = nodes };
	struct storm_sim_traffic t[2];
	uint64_t began, sent;
	char why[200];

	*p = (struct play) { .chance = 1,
			     .longest = STORM_MS,
			     .all_well = true };
	storm_settings_default(&c.set);
	play_begin(p, &c, 1);
	for (int k = 0; k < 2; k++) {
		t[0] = *storm_sim_traffic(p->sim, STORM_NO_NODE);
		began = now(p);
		CHECK(runs_add(&p->runs, &want, p, why, sizeof(why)), "%s",
		      why);
		p->asked++;
		for (int m = 0; m < 5000 && p->over < p->asked; m++)
			go_on(p, STORM_MS);
		CHECK(p->over == p->asked, "%u nodes: it does not end", nodes);
	}
	t[1] = *storm_sim_traffic(p->sim, STORM_NO_NODE);
	sent = t[1].tx_control.bytes + t[1].tx_bulk.bytes -
	       t[0].tx_control.bytes - t[0].tx_bulk.bytes;
	printf("%5u nodes: the head sends %llu datagrams, %llu bytes, and receives %llu; %.2f ms\n",
	       nodes,
	       (unsigned long long) (t[1].tx_control.datagrams +
				     t[1].tx_bulk.datagrams -
				     t[0].tx_control.datagrams -
				     t[0].tx_bulk.datagrams),
	       (unsigned long long) sent,
	       (unsigned long long) (t[1].rx_control.datagrams -
				     t[0].rx_control.datagrams),
	       (double) (now(p) - began) / STORM_MS);
	play_end(p);
	return sent;
}

static void quiet(enum storm_log_level level, const char *msg)
{
	(void) level;
	(void) msg;
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t seeds = argc > 2 ? strtoull(argv[2], NULL, 10) :
			 argc > 1 ? 1 :
				    SEEDS;
	uint64_t few, many;

	storm_log_set(quiet);
	for (uint64_t k = 0; k < seeds; k++)
		by_chance(first + k);
	printf("%llu plays, no violation\n", (unsigned long long) seeds);
	if (argc > 1)
		return 0;
	few = cost(64);
	cost(1024);
	many = cost(getenv("SAN_FLAGS") && *getenv("SAN_FLAGS") ? 2048 :
								  LARGEST);
	CHECK(many < 2 * few, "%llu bytes on 64 nodes, %llu on many",
	      (unsigned long long) few, (unsigned long long) many);
	return 0;
}
