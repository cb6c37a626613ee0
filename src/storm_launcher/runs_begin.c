/*
 * runs_begin.c - which run begins, and where.  See runs.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_wire.h"
#include "runs.h"
#include "runs_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

/* ------------------------------------------------------------- where it runs --- */

static int runs_by_room(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* How many tasks can have so much each; 0: none of it is asked for. */
static uint64_t runs_tasks_for(uint64_t have, uint64_t each)
{
	return each ? have / each : UINT64_MAX;
}

/* How many of its tasks a node can have, by what that has. */
static uint32_t runs_room_on(const struct runs *r, const struct user_run *run,
			     const struct runs_stock *have, uint32_t n)
{
	/* of a task */
	uint32_t cpus = run->whole ? r->all.cpus[n] : run->cpus;
	uint64_t room = cpus ? have->cpus[n] / cpus : 0;

	if (have->gpus[n] < run->node_gpus ||
	    (r->all.mem[n] && have->mem[n] < run->mem))
		return 0;
	room = storm_min(room, runs_tasks_for(have->gpus[n], run->gpus));
	if (r->all.mem[n])
		room = storm_min(room, runs_tasks_for(have->mem[n],
						      run->cpu_mem * cpus));
	return (uint32_t) room;
}

/* How many each node can have. */
static uint32_t *runs_room(const struct runs *r, const struct user_run *run,
			   const struct runs_stock *have)
{
	uint32_t *room = calloc(r->nodes, sizeof(*room));

	for (uint32_t n = 0; room && n < r->nodes; n++) {
		if (storm_idset_has(&r->lost, n) ||
		    storm_idset_has(&run->never, n))
			continue;
		room[n] = runs_room_on(r, run, have, n);
	}
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

/* Nodes for it, of what each has.  NULL: there are too few. */
static uint32_t *runs_place(const struct runs *r, const struct user_run *run,
			    const struct runs_stock *have,
			    struct storm_idset *out)
{
	uint32_t *room = runs_room(r, run, have), *rank = NULL;

	if (room)
		rank = runs_place_by(r, run, room, out);
	free(room);
	return rank;
}

/* Take its CPUs and all else from the nodes. */
static void runs_take(struct runs *r, const struct user_run *run)
{
	uint32_t nth = 0;

	for (uint32_t k = 0; k < run->nodes.count; k++)
		for (uint32_t n = run->nodes.r[k].first;
		     n <= run->nodes.r[k].last; n++)
			runs_take_share(r, n, run_share_of(r, run, n, nth++));
}

/* Has the job enough for it? */
static bool runs_job_has(const struct runs *r, const struct user_run *run)
{
	struct storm_idset nodes = { 0 };
	uint32_t *rank = runs_place(r, run, &r->all, &nodes);

	storm_idset_clear(&nodes);
	free(rank);
	return rank != NULL;
}

/* The most memory that a node of the job has. */
static uint64_t runs_most_memory(const struct runs *r)
{
	uint64_t most = 0;

	for (uint32_t n = 0; n < r->nodes; n++)
		most = storm_max(most, r->all.mem[n]);
	return most;
}

/* Why the job can never have it: of what is asked for most seldom first. */
static void runs_say_never(const struct runs *r, const struct user_run *run,
			   char *why, size_t size)
{
	char each[64] = "", never[40] = "", has[64];
	struct user_run less = *run;
	struct run_stocks all;
	uint32_t left = (uint32_t) storm_idset_size(&run->never);

	runs_sum(r, &all);
	less.mem = less.cpu_mem = 0;
	if (left)
		snprintf(never, sizeof(never), ", %u of them excluded", left);
	if (runs_job_has(r, &less)) {
		if (run->mem)
			snprintf(each, sizeof(each), " with %llu MB on each",
				 (unsigned long long) run->mem);
		else
			snprintf(each, sizeof(each), " with %llu MB for a CPU",
				 (unsigned long long) run->cpu_mem);
		snprintf(has, sizeof(has), "at most %llu MB",
			 (unsigned long long) runs_most_memory(r));
	} else if (less.gpus = less.node_gpus = 0, runs_job_has(r, &less)) {
		snprintf(each, sizeof(each), " with %u GPUs %s",
			 run->gpus ? run->gpus : run->node_gpus,
			 run->gpus ? "each" : "on each");
		snprintf(has, sizeof(has), "%llu GPUs",
			 (unsigned long long) all.gpus);
	} else {
		if (run->cpus > 1)
			snprintf(each, sizeof(each), " with %u CPUs each",
				 run->cpus);
		snprintf(has, sizeof(has), "%llu CPUs",
			 (unsigned long long) all.cpus);
	}
	snprintf(
		why, size,
		"%u tasks%s on %u nodes are asked for, the job has %s on %u nodes%s",
		run->tasks, each, run->want_nodes, has, r->nodes, never);
}

/* False: it can never begin. */
static bool runs_can_ever(const struct runs *r, const struct user_run *run,
			  char *why, size_t size)
{
	if (run->want_nodes > r->nodes) {
		snprintf(why, size, "%u nodes are asked for, the job has %u",
			 run->want_nodes, r->nodes);
		return false;
	}
	if (runs_job_has(r, run))
		return true;
	runs_say_never(r, run, why, size);
	return false;
}

/* How many nodes of the job could have a task of it; those that it may not have count if
 * none could. */
static uint32_t runs_may_have(const struct runs *r, const struct user_run *run)
{
	uint32_t *room = runs_room(r, run, &r->all), may = 0;

	for (uint32_t n = 0; room && n < r->nodes; n++)
		may += room[n] > 0;
	free(room);
	return may ? may : r->nodes - (uint32_t) storm_idset_size(&run->never);
}

/* Numbers that are not given follow from the others.  False: they do not agree. */
static bool runs_numbers(const struct runs *r, const struct run_want *want,
			 struct user_run *run, char *why, size_t size)
{
	uint32_t with = (uint32_t) storm_idset_size(&want->with);
	uint32_t nodes = want->nodes, tasks = want->tasks, may;

	run->asked_cpus = want->cpus;
	run->cpus = want->cpus ? want->cpus : 1;
	run->gpus = want->gpus;
	run->node_gpus = want->gpus ? 0 : want->node_gpus;
	run->mem = want->mem;
	run->cpu_mem = want->mem ? 0 : want->cpu_mem;
	run->whole = want->whole;
	may = runs_may_have(r, run);
	if (!tasks)
		tasks = nodes ? nodes : may;
	if (!nodes)
		nodes = (uint32_t) storm_min(may, tasks);
	if (!nodes)
		snprintf(why, size, "all nodes of the job are excluded");
	else if (want->whole && tasks != nodes)
		snprintf(
			why, size,
			"%u tasks cannot have %u whole nodes: each of them has one",
			tasks, nodes);
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
	run->rank = runs_place(r, run, &r->free, &run->nodes);
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
