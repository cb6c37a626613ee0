/*
 * runs.c - see runs.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "run_wire.h"
#include "runs.h"
#include "runs_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

int runs_init(struct runs *r, uint32_t nodes, const uint32_t *cpus)
{
	memset(r, 0, sizeof(*r));
	r->tail = &r->first;
	r->nodes = nodes;
	if (!runs_stock_alloc(&r->all, nodes) ||
	    !runs_stock_alloc(&r->free, nodes)) {
		runs_fini(r);
		return STORM_ENOMEM;
	}
	memcpy(r->all.cpus, cpus, nodes * sizeof(*cpus));
	memcpy(r->free.cpus, cpus, nodes * sizeof(*cpus));
	return STORM_OK;
}

static void run_ended_free(struct run_ended **first)
{
	while (*first) {
		struct run_ended *next = (*first)->next;

		storm_idset_clear(&(*first)->tasks);
		free(*first);
		*first = next;
	}
}

void runs_free(struct user_run *run)
{
	run_ended_free(&run->ended);
	run_ended_free(&run->gone);
	for (uint32_t k = 0; k < run->feeds; k++)
		run_feed_fini(&run->feed[k]);
	free(run->feed);
	for (int k = 0; k < 2; k++)
		run_fold_destroy(run->fold[k]);
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
	runs_stock_free(&r->all);
	runs_stock_free(&r->free);
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

/* -------------------------------------------------------------------- CPUs --- */

uint64_t run_cpus(const struct runs *r, const struct user_run *run)
{
	struct run_stocks all;
	uint32_t nth = 0;
	uint64_t n = 0;

	/* one of whole nodes does not know yet which it gets */
	runs_sum(r, &all);
	if (!run->rank)
		return run->whole ? all.cpus :
				    (uint64_t) run->tasks * run->cpus;
	for (uint32_t k = 0; k < run->nodes.count; k++)
		for (uint32_t i = run->nodes.r[k].first;
		     i <= run->nodes.r[k].last; i++)
			n += run_share_of(r, run, i, nth++).cpus;
	return n;
}

static void runs_give_node(struct runs *r, struct user_run *run, uint32_t node,
			   uint32_t nth)
{
	if (storm_idset_has(&run->freed, node))
		return;
	/* without memory the end of the run gives it back */
	if (!storm_idset_add(&run->freed, node, node))
		runs_give_share(r, node, run_share_of(r, run, node, nth));
}

bool run_ranks_done(const struct user_run *run, uint32_t first, uint32_t last)
{
	struct storm_range r = { first, last };
	const struct storm_idset s = { &r, 1, 1 };

	return storm_idset_covers(&run->done, &s);
}

bool runs_node_done(const struct user_run *run, uint32_t nth)
{
	return run_ranks_done(run, run->rank[nth], run->rank[nth + 1] - 1);
}

/* Give back what it has of each node on which all of its tasks have ended. */
static void runs_give(struct runs *r, struct user_run *run)
{
	uint32_t nth = 0;

	for (uint32_t k = 0; k < run->nodes.count; k++)
		for (uint32_t n = run->nodes.r[k].first;
		     n <= run->nodes.r[k].last; n++, nth++)
			if (runs_node_done(run, nth))
				runs_give_node(r, run, n, nth);
}

/* -------------------------------------------------------------- how it ends --- */

/* Has a signal that Slurm ends steps by ended a task?  Or a program of the shell that the
 * task is: a status says so. */
static bool run_was_slurms(const struct user_run *run)
{
	const struct run_ended *e = run->signaled ? NULL : run->ended;

	while (e && run_code_status(e->code) != 128 + SIGTERM &&
	       run_code_status(e->code) != 128 + SIGKILL)
		e = e->next;
	return e != NULL;
}

/* Its ranks of these have ended, too. */
static bool run_add_done(struct user_run *run, const struct storm_idset *ranks)
{
	if (storm_idset_union(&run->done, ranks))
		return false;
	if (storm_idset_size(&run->done) == run->tasks)
		run->state = RUN_IS_OVER;
	return true;
}

static bool run_ended_add(struct run_ended **first, uint32_t code,
			  const struct storm_idset *ranks)
{
	struct run_ended *e = *first;

	while (e && e->code != code)
		e = e->next;
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e)
			return false;
		e->code = code;
		e->next = *first;
		*first = e;
	}
	return !storm_idset_union(&e->tasks, ranks);
}

/* Its client is to hear of those that were not known to have ended. */
static bool run_add_gone(struct user_run *run, uint32_t code,
			 const struct storm_idset *ranks)
{
	struct storm_idset fresh = { 0 };
	bool good;

	if (!run->framed)
		return true;
	good = !storm_idset_minus(ranks, &run->done, &fresh) &&
	       (!fresh.count || run_ended_add(&run->gone, code, &fresh));
	storm_idset_clear(&fresh);
	return good;
}

static bool run_add_ended(struct user_run *run, uint32_t code,
			  const struct storm_idset *ranks)
{
	return run_add_gone(run, code, ranks) &&
	       run_ended_add(&run->ended, code, ranks) &&
	       run_add_done(run, ranks);
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
			/* Slurm signals one process after the other, and the
			 * head may be the last */
			if (run->state == RUN_IS_OVER && run->tells &&
			    !run->ending && run_was_slurms(run))
				run->doubt = RUNS_DOUBT;
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
	if (!run->keep)
		run_must_die(run);
	if (storm_idset_add(&run->lost, node, node) ||
	    !run_add_gone(run, run_code(RUN_NODE_LOST, 0), &s) ||
	    !run_add_done(run, &s))
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

void runs_stop(struct user_run *run)
{
	run->stopped = true;
	runs_abort(run);
}

enum run_end run_why_over(const struct user_run *run)
{
	return run->stopped || (run->ending && run_was_slurms(run)) ?
		       RUN_END_STOPPED :
	       run->lost.count && !run->keep ? RUN_END_NODE_LOST :
					       RUN_END_OWN;
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

void runs_end(struct runs *r)
{
	r->closing = true;
	for (struct user_run *run = r->first; run; run = run->next) {
		run->ending |= run->state == RUN_RUNS || run->doubt;
		run->doubt = 0;
	}
}

void runs_close(struct runs *r, bool now)
{
	r->closing = true;
	for (struct user_run *run = r->first; now && run; run = run->next) {
		run->stopped |= run->state != RUN_IS_OVER;
		if (run->state == RUN_WAITS)
			runs_abort(run);
		else
			run_must_die(run);
	}
}

struct user_run *runs_over(const struct runs *r)
{
	struct user_run *run = r->first;

	while (run && (run->state != RUN_IS_OVER || run->held || run->doubt))
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

bool run_has_cause(const struct user_run *run, enum run_cause cause)
{
	for (const struct run_ended *e = run->ended; e; e = e->next) {
		enum run_cause one;
		int value;

		if (run_code_read(e->code, &one, &value) && one == cause)
			return true;
	}
	return false;
}

int run_status(const struct user_run *run)
{
	int status = run->status, sig = 0;

	if (run->aborted)
		return run->aborted;
	for (const struct run_ended *e = run->ended; e; e = e->next) {
		int one = run_code_status(e->code);

		if (run_code_is_signal(e->code))
			sig = (int) storm_max((uint64_t) sig, (uint64_t) one);
		status = one > status ? one : status;
	}
	return sig ? sig : status;
}
