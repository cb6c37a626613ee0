/*
 * runs.c - see runs.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_wire.h"
#include "runs.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

int runs_init(struct runs *r, uint32_t nodes, const uint32_t *cpus)
{
	memset(r, 0, sizeof(*r));
	r->tail = &r->first;
	r->nodes = nodes;
	r->cpus = calloc(nodes, sizeof(*r->cpus));
	r->free = calloc(nodes, sizeof(*r->free));
	if (!r->cpus || !r->free) {
		runs_fini(r);
		return STORM_ENOMEM;
	}
	memcpy(r->cpus, cpus, nodes * sizeof(*cpus));
	memcpy(r->free, cpus, nodes * sizeof(*cpus));
	return STORM_OK;
}

static void runs_free(struct user_run *run)
{
	while (run->ended) {
		struct run_ended *next = run->ended->next;

		storm_idset_clear(&run->ended->tasks);
		free(run->ended);
		run->ended = next;
	}
	storm_idset_clear(&run->nodes);
	storm_idset_clear(&run->done);
	storm_idset_clear(&run->freed);
	storm_idset_clear(&run->lost);
	storm_idset_clear(&run->with);
	storm_idset_clear(&run->never);
	free(run->rank);
	free(run);
}

void runs_fini(struct runs *r)
{
	while (r->first) {
		struct user_run *next = r->first->next;

		runs_free(r->first);
		r->first = next;
	}
	r->tail = &r->first;
	free(r->cpus);
	free(r->free);
	r->cpus = r->free = NULL;
	storm_idset_clear(&r->lost);
}

/* A number that *at points to, and behind it. */
static bool runs_number(const char **at, unsigned long *out)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*out = strtoul(*at, &end, 10);
	*at = end;
	return *out && *out <= UINT32_MAX;
}

bool runs_cpus_read(const char *text, uint32_t nodes, uint32_t *cpus)
{
	uint32_t n = 0;

	while (n < nodes) {
		unsigned long count, times = 1;

		if (!runs_number(&text, &count))
			return false;
		if (!strncmp(text, "(x", 2)) {
			text += 2;
			if (!runs_number(&text, &times) || *text++ != ')')
				return false;
		}
		if (times > nodes - n)
			return false;
		while (times--)
			cpus[n++] = (uint32_t) count;
		if (*text == ',')
			text++;
		else if (*text)
			return false;
	}
	return !*text;
}

/* ------------------------------------------------------------- where it runs --- */

static int runs_by_room(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* How many of its tasks each node can have, by the CPUs that it has. */
static uint32_t *runs_room(const struct runs *r, const struct user_run *run,
			   const uint32_t *have)
{
	uint32_t *room = calloc(r->nodes, sizeof(*room));

	for (uint32_t n = 0; room && n < r->nodes; n++)
		if (!storm_idset_has(&r->lost, n) &&
		    !storm_idset_has(&run->never, n))
			room[n] = have[n] / run->cpus;
	return room;
}

/* The nodes that it may choose, beside those that it has in any case. */
static uint32_t runs_choices(const struct user_run *run)
{
	return run->want_nodes - (uint32_t) storm_idset_size(&run->with);
}

/* The room that a node has to have to be among those with the most; *ties: how many of
 * those that have just this. */
static bool runs_least(const struct runs *r, const struct user_run *run,
		       const uint32_t *room, uint32_t *least, uint32_t *ties)
{
	uint32_t *sorted = malloc(r->nodes * sizeof(*sorted));
	uint32_t want = runs_choices(run), count = 0;

	if (!sorted)
		return false;
	for (uint32_t n = 0; n < r->nodes; n++)
		if (!storm_idset_has(&run->with, n))
			sorted[count++] = room[n];
	qsort(sorted, count, sizeof(*sorted), runs_by_room);
	*least = want ? sorted[want - 1] : UINT32_MAX;
	for (*ties = 0; *ties < want && sorted[want - 1 - *ties] == *least;)
		++*ties;
	free(sorted);
	return true;
}

/* Take nodes with so much room, as they follow each other.  How many tasks they can
 * have; 0: there are too few nodes. */
static uint64_t runs_choose(const struct runs *r, const struct user_run *run,
			    const uint32_t *room, uint32_t least, uint32_t ties,
			    struct storm_idset *out)
{
	uint32_t chosen = 0, want = runs_choices(run);
	uint64_t sum = 0;

	for (uint32_t n = 0; n < r->nodes; n++) {
		bool with = storm_idset_has(&run->with, n);

		if (!room[n] && with)
			return 0;
		if (!with && (chosen == want || room[n] < least ||
			      (room[n] == least && !ties)))
			continue;
		ties -= !with && room[n] == least;
		if (storm_idset_add(out, n, n))
			return 0;
		chosen += !with;
		sum += room[n];
	}
	return chosen == want ? sum : 0;
}

static uint32_t *runs_layout(const struct user_run *run, const uint32_t *room,
			     const struct storm_idset *nodes)
{
	uint32_t *here, n = 0, *rank;

	here = run->want_nodes ? malloc(run->want_nodes * sizeof(*here)) : NULL;
	if (!here)
		return NULL;
	for (uint32_t k = 0; k < nodes->count; k++)
		for (uint32_t i = nodes->r[k].first; i <= nodes->r[k].last; i++)
			here[n++] = room[i];
	rank = run_layout(here, n, run->tasks);
	free(here);
	return rank;
}

/* The first nodes, or if these have too little room those with the most. */
static uint32_t *runs_place_by(const struct runs *r, const struct user_run *run,
			       const uint32_t *room, struct storm_idset *out)
{
	uint32_t least, ties;

	if (runs_choose(r, run, room, 1, r->nodes, out) >= run->tasks)
		return runs_layout(run, room, out);
	storm_idset_clear(out);
	if (!runs_least(r, run, room, &least, &ties) || !least)
		return NULL;
	if (runs_choose(r, run, room, least, ties, out) >= run->tasks)
		return runs_layout(run, room, out);
	return NULL;
}

/* Nodes for it, of the CPUs that each has.  NULL: there are too few. */
static uint32_t *runs_place(const struct runs *r, const struct user_run *run,
			    const uint32_t *have, struct storm_idset *out)
{
	uint32_t *room = runs_room(r, run, have), *rank = NULL;

	if (room)
		rank = runs_place_by(r, run, room, out);
	free(room);
	return rank;
}

static uint32_t run_cpus_on(const struct user_run *run, uint32_t nth)
{
	return (run->rank[nth + 1] - run->rank[nth]) * run->cpus;
}

/* Take its CPUs from the nodes, or give those of one back. */
static void runs_take(struct runs *r, const struct user_run *run)
{
	uint32_t nth = 0;

	for (uint32_t k = 0; k < run->nodes.count; k++)
		for (uint32_t n = run->nodes.r[k].first;
		     n <= run->nodes.r[k].last; n++)
			r->free[n] -= run_cpus_on(run, nth++);
}

static void runs_give_node(struct runs *r, struct user_run *run, uint32_t node,
			   uint32_t nth)
{
	if (storm_idset_has(&run->freed, node))
		return;
	/* without memory the end of the run gives it back */
	if (!storm_idset_add(&run->freed, node, node))
		r->free[node] += run_cpus_on(run, nth);
}

static bool runs_node_done(const struct user_run *run, uint32_t nth)
{
	struct storm_range ranks = { run->rank[nth], run->rank[nth + 1] - 1 };
	const struct storm_idset s = { &ranks, 1, 1 };

	return storm_idset_covers(&run->done, &s);
}

/* Give back the CPUs of each node on which all of its tasks have ended. */
static void runs_give(struct runs *r, struct user_run *run)
{
	uint32_t nth = 0;

	for (uint32_t k = 0; k < run->nodes.count; k++)
		for (uint32_t n = run->nodes.r[k].first;
		     n <= run->nodes.r[k].last; n++, nth++)
			if (runs_node_done(run, nth))
				runs_give_node(r, run, n, nth);
}

static uint64_t runs_cpus_all(const struct runs *r)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < r->nodes; k++)
		n += r->cpus[k];
	return n;
}

/* Why the job can never have it. */
static void runs_say_never(const struct runs *r, const struct user_run *run,
			   char *why, size_t size)
{
	char cpus[40] = "", never[40] = "";
	uint32_t left = (uint32_t) storm_idset_size(&run->never);

	if (run->cpus > 1)
		snprintf(cpus, sizeof(cpus), " with %u CPUs each", run->cpus);
	if (left)
		snprintf(never, sizeof(never), ", %u of them excluded", left);
	snprintf(
		why, size,
		"%u tasks%s on %u nodes are asked for, the job has %llu CPUs on %u nodes%s",
		run->tasks, cpus, run->want_nodes,
		(unsigned long long) runs_cpus_all(r), r->nodes, never);
}

/* False: it can never begin. */
static bool runs_can_ever(const struct runs *r, const struct user_run *run,
			  char *why, size_t size)
{
	struct storm_idset nodes = { 0 };
	uint32_t *rank;

	if (run->want_nodes > r->nodes) {
		snprintf(why, size, "%u nodes are asked for, the job has %u",
			 run->want_nodes, r->nodes);
		return false;
	}
	rank = runs_place(r, run, r->cpus, &nodes);
	storm_idset_clear(&nodes);
	free(rank);
	if (!rank)
		runs_say_never(r, run, why, size);
	return rank != NULL;
}

/* Numbers that are not given follow from the others.  False: they do not agree. */
static bool runs_numbers(const struct runs *r, const struct run_want *want,
			 struct user_run *run, char *why, size_t size)
{
	uint32_t with = (uint32_t) storm_idset_size(&want->with);
	uint32_t may = r->nodes - (uint32_t) storm_idset_size(&want->never);
	uint32_t nodes = want->nodes, tasks = want->tasks;

	if (!tasks)
		tasks = nodes ? nodes : may;
	if (!nodes)
		nodes = (uint32_t) storm_min(may, tasks);
	if (!nodes)
		snprintf(why, size, "all nodes of the job are excluded");
	else if (tasks < nodes)
		snprintf(
			why, size,
			"%u tasks cannot be on %u nodes: each has one at least",
			tasks, nodes);
	else if (nodes < with)
		snprintf(why, size, "%u nodes are asked for, and %u are named",
			 nodes, with);
	run->want_nodes = nodes;
	run->tasks = tasks;
	run->asked_cpus = want->cpus;
	run->cpus = want->cpus ? want->cpus : 1;
	return !*why;
}

struct user_run *runs_add(struct runs *r, const struct run_want *want,
			  void *client, char *why, size_t size)
{
	struct user_run *run = calloc(1, sizeof(*run));

	*why = '\0';
	if (!run)
		return NULL;
	if (storm_idset_union(&run->with, &want->with) ||
	    storm_idset_union(&run->never, &want->never) ||
	    !runs_numbers(r, want, run, why, size) ||
	    !runs_can_ever(r, run, why, size)) {
		runs_free(run);
		return NULL;
	}
	run->client = client;
	run->number = ++r->number;
	*r->tail = run;
	r->tail = &run->next;
	return run;
}

struct user_run *runs_begin(struct runs *r)
{
	struct user_run *run = r->first;

	while (run && run->state != RUN_WAITS)
		run = run->next;
	if (!run || r->closing)
		return NULL;
	run->rank = runs_place(r, run, r->free, &run->nodes);
	if (!run->rank) {
		storm_idset_clear(&run->nodes);
		return NULL;
	}
	runs_take(r, run);
	run->first = r->next_id;
	r->next_id += run->tasks;
	run->state = RUN_RUNS;
	if (r->next_id >= RUNS_IDS_MAX)
		r->closing = true;
	return run;
}

/* -------------------------------------------------------------- how it ends --- */

/* Its ranks of these have ended, too. */
static bool run_add_done(struct user_run *run, const struct storm_idset *ranks)
{
	if (storm_idset_union(&run->done, ranks))
		return false;
	if (storm_idset_size(&run->done) == run->tasks)
		run->state = RUN_IS_OVER;
	return true;
}

static bool run_add_ended(struct user_run *run, uint32_t code,
			  const struct storm_idset *ranks)
{
	struct run_ended *e = run->ended;

	while (e && e->code != code)
		e = e->next;
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e)
			return false;
		e->code = code;
		e->next = run->ended;
		run->ended = e;
	}
	return !storm_idset_union(&e->tasks, ranks) && run_add_done(run, ranks);
}

/* The ranks of a run that are among these ids. */
static bool run_ranks_of(const struct user_run *run,
			 const struct storm_idset *ids, struct storm_idset *out)
{
	uint32_t last = run->first + run->tasks - 1;

	for (uint32_t k = 0; k < ids->count; k++) {
		uint32_t a = (uint32_t) storm_max(ids->r[k].first, run->first);
		uint32_t b = (uint32_t) storm_min(ids->r[k].last, last);

		if (a <= b &&
		    storm_idset_add(out, a - run->first, b - run->first))
			return false;
	}
	return true;
}

bool runs_report(struct runs *r, uint32_t code, const struct storm_idset *ids)
{
	bool good = true;

	for (struct user_run *run = r->first; run; run = run->next) {
		struct storm_idset ranks = { 0 };

		if (run->state != RUN_RUNS)
			continue;
		good &= run_ranks_of(run, ids, &ranks);
		if (ranks.count) {
			good &= run_add_ended(run, code, &ranks);
			runs_give(r, run);
		}
		storm_idset_clear(&ranks);
	}
	return good;
}

static void run_must_die(struct user_run *run)
{
	if (run->state == RUN_RUNS && !run->killed)
		run->kill = run->killed = true;
}

static void run_lose(struct user_run *run, uint32_t node)
{
	uint32_t nth = run_place(&run->nodes, node);
	struct storm_range ranks;
	const struct storm_idset s = { &ranks, 1, 1 };

	if (nth == UINT32_MAX || runs_node_done(run, nth))
		return;
	ranks = (struct storm_range) { run->rank[nth], run->rank[nth + 1] - 1 };
	run->status = 1;
	run_must_die(run);
	if (storm_idset_add(&run->lost, node, node) || !run_add_done(run, &s))
		run->state = RUN_IS_OVER; /* no memory: better over than hung */
}

void runs_lose(struct runs *r, uint32_t node)
{
	r->closing = true;
	storm_idset_add(&r->lost, node, node);
	for (struct user_run *run = r->first; run; run = run->next)
		if (run->state == RUN_RUNS)
			run_lose(run, node);
}

void runs_cancel(struct user_run *run, int sig)
{
	runs_abort(run);
	run->status = 128 + sig;
}

void runs_abort(struct user_run *run)
{
	if (!run->status)
		run->status = 1;
	run->kill = false;
	run->state = RUN_IS_OVER;
}

void runs_leave(struct runs *r, struct user_run *run)
{
	(void) r;
	run->client = NULL;
	if (run->state == RUN_WAITS)
		runs_abort(run);
	else
		run_must_die(run);
}

void runs_close(struct runs *r, bool now)
{
	r->closing = true;
	for (struct user_run *run = r->first; now && run; run = run->next)
		if (run->state == RUN_WAITS)
			runs_abort(run);
		else
			run_must_die(run);
}

struct user_run *runs_over(const struct runs *r)
{
	struct user_run *run = r->first;

	while (run && run->state != RUN_IS_OVER)
		run = run->next;
	return run;
}

struct user_run *runs_to_kill(const struct runs *r)
{
	struct user_run *run = r->first;

	while (run && !(run->kill && run->state == RUN_RUNS))
		run = run->next;
	return run;
}

struct user_run *runs_find(const struct runs *r, uint64_t number)
{
	struct user_run *run = r->first;

	while (run && run->number != number)
		run = run->next;
	return run;
}

bool runs_any(const struct runs *r)
{
	return r->first != NULL;
}

void runs_drop(struct runs *r, struct user_run *run)
{
	struct user_run **at = &r->first;
	uint32_t nth = 0;

	for (uint32_t k = 0; k < run->nodes.count; k++)
		for (uint32_t n = run->nodes.r[k].first;
		     n <= run->nodes.r[k].last; n++)
			runs_give_node(r, run, n, nth++);
	while (*at != run)
		at = &(*at)->next;
	*at = run->next;
	if (r->tail == &run->next)
		r->tail = at;
	runs_free(run);
}

int runs_past(const struct runs *r, uint32_t ranges, struct storm_idset *out)
{
	struct storm_range all = { 0, r->next_id - 1 };
	const struct storm_idset given = { &all, r->next_id > 0, 1 };
	struct storm_idset run_ids = { 0 };
	int err = STORM_OK;

	for (const struct user_run *run = r->first; run && !err;
	     run = run->next)
		if (run->state == RUN_RUNS)
			err = storm_idset_add(&run_ids, run->first,
					      run->first + run->tasks - 1);
	if (!err && run_ids.count) /* one range more is between them */
		storm_idset_join(&run_ids, ranges - 1);
	if (!err)
		err = storm_idset_minus(&given, &run_ids, out);
	storm_idset_clear(&run_ids);
	if (err)
		storm_idset_clear(out);
	return err;
}

bool run_has_failed(const struct user_run *run)
{
	const struct run_ended *e = run->ended;

	while (e && !e->code)
		e = e->next;
	return e != NULL;
}

int run_status(const struct user_run *run)
{
	int status = run->status, sig = 0;

	for (const struct run_ended *e = run->ended; e; e = e->next) {
		int one = run_code_status(e->code);

		if (run_code_is_signal(e->code))
			sig = (int) storm_max((uint64_t) sig, (uint64_t) one);
		status = one > status ? one : status;
	}
	return sig ? sig : status;
}
