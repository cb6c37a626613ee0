/*
 * judge.c - what must be so, whatever the faults: files whole, on all or on
 * none; events once and with their data, after them; nobody named whom no
 * fault has hit, and everybody named who is lost for good; a comparison true
 * or false only if it is; every report heard and acknowledged; nothing left
 * behind.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "run_private.h"

/* ------------------------------------------------------------ what is shown --- */

static struct sent *judge_by_path(struct run *r, const char *path)
{
	for (uint32_t i = r->nsent; i--;)
		if (r->sent[i].file && !strcmp(r->sent[i].path, path))
			return &r->sent[i];
	return NULL;
}

/* Of an operation that has ended, or has not. */
static void judge_shown(struct run *r, uint32_t node, const struct sent *x,
			const char *what)
{
	if (x->state == STORM_ABORTED)
		run_violated(r, "%s of an aborted transfer on n%u", what,
			     node + 1);
	if (!in_set(r, x->op, node))
		run_violated(r, "%s on n%u, which it was not sent to", what,
			     node + 1);
}

static void judge_new_file(struct run *r, uint32_t node,
			   const struct storm_sim_file *f)
{
	struct sent *x = judge_by_path(r, f->path);

	if (!x) {
		run_violated(r, "n%u shows %s, which nobody sent", node + 1,
			     f->path);
		return;
	}
	judge_shown(r, node, x, "a file");
	if (x->shown[node]++)
		run_violated(r, "n%u shows %s twice", node + 1, f->path);
	/* shared: every byte of it was compared as it was written */
	if (f->size != x->size ||
	    (!(f->shared && f->data == x->buf) &&
	     memcmp(f->data, x->buf, x->size)))
		run_violated(r, "%s differs on n%u", f->path, node + 1);
}

static void judge_new_event(struct run *r, uint32_t node,
			    const struct storm_sim_seen *e)
{
	struct sent *x;

	if (e->event < FIRST_EVENT || e->event - FIRST_EVENT >= r->nsent) {
		run_violated(r, "n%u was signalled event %u, which nobody sent",
			     node + 1, e->event);
		return;
	}
	x = &r->sent[e->event - FIRST_EVENT];
	judge_shown(r, node, x, "an event");
	if (x->signalled[node]++)
		run_violated(r, "n%u was signalled event %u twice", node + 1,
			     e->event);
	if (x->file && !x->shown[node])
		run_violated(r, "n%u was signalled event %u before its data",
			     node + 1, e->event);
	if (!x->file && (e->len != x->size || memcmp(e->data, x->buf, e->len)))
		run_violated(r, "event %u has other data on n%u", e->event,
			     node + 1);
	if (!x->file)
		x->shown[node]++;
	if (x->launch)		/* its processes end some time later */
		action_add(r, (struct action) {
			.at = storm_sim_now(r->sim) + ns_of(x->op->seconds) +
			      (x->op->jitter > 0 ?
			       run_draw(r) % ns_of(x->op->jitter) : 0),
			.what = DO_REPORT, .number = node,
			.sent = (uint32_t) (x - r->sent) });
}

void judge_watch(void *arg, uint32_t node, uint32_t from)
{
	struct run *r = arg;
	const struct storm_sim_file *f;
	const struct storm_sim_seen *e;
	uint32_t n;

	(void) from;
	if (node == STORM_NO_NODE)
		return;
	f = storm_sim_files(r->sim, node, &n);
	for (; r->files[node] < n; r->files[node]++)
		judge_new_file(r, node, &f[r->files[node]]);
	e = storm_sim_events(r->sim, node, &n);
	for (; r->events[node] < n; r->events[node]++)
		judge_new_event(r, node, &e[r->events[node]]);
}

/* ---------------------------------------------------------------- outcomes --- */

void judge_named(struct run *r, uint32_t node, enum storm_err why)
{
	if (node == STORM_NO_NODE) {
		run_violated(r, "an operation failed, and nobody is named: %s",
			     storm_strerror(why));
		return;
	}
	if (!storm_idset_has(&r->broken, node) &&
	    !storm_idset_has(&r->disturbed, node))
		run_violated(r, "n%u is named (%s), but nothing has happened to it",
			     node + 1, storm_strerror(why));
	storm_idset_add(&r->named, node, node);
}

void judge_outcome(struct run *r, const struct storm_outcome *out)
{
	for (uint32_t i = 0; i < out->faults_kept; i++)
		judge_named(r, out->faults[i].node, out->faults[i].why);
	if (out->state == STORM_ABORTED && !out->nfaults)
		run_violated(r,
			     "an operation was aborted, and nobody is named");
	if (out->state == STORM_UNKNOWN)
		run_violated(r, "an operation is UNKNOWN, though the owner has its domain");
}

void judge_transfer(struct run *r, const struct sent *x)
{
	for (uint32_t i = 0; i < r->n; i++) {
		if (x->state == STORM_ABORTED && x->shown[i])
			run_violated(r, "aborted, but n%u shows it", i + 1);
		if (x->state == STORM_DONE && in_set(r, x->op, i) &&
		    !x->shown[i] && !storm_idset_has(&r->named, i))
			run_violated(r, "done, but n%u, which is not named, does not show it",
				     i + 1);
	}
}

static uint64_t *judge_variable(struct run *r, uint32_t node, uint32_t var)
{
	return var >= STORM_GLOBAL(0) ?
		&r->global[node][var - STORM_GLOBAL(0)] : &r->own[node][var];
}

static bool judge_holds(uint64_t a, int rel, uint64_t b)
{
	return rel == STORM_GE ? a >= b : rel == STORM_LT ? a < b :
	       rel == STORM_EQ ? a == b : a != b;
}

/* What was to be written must be there, by now. */
static void judge_written(struct run *r, const struct op *o)
{
	uint64_t v;

	for (uint32_t i = 0; i < r->n; i++) {
		uint64_t s = storm_sim_session(r->sim, i);

		if (!in_set(r, o, i))
			continue;
		*judge_variable(r, i, o->write_variable) =
			(uint64_t) o->write_value;
		if (!s || storm_idset_has(&r->named, i))
			continue;
		if (storm_nm_variable(storm_sim_nm(r->sim, i), s,
				    o->write_variable, &v) ||
		    v != (uint64_t) o->write_value)
			run_violated(r, "true, but n%u has not written", i + 1);
	}
}

void judge_compare(struct run *r, const struct op *o)
{
	uint32_t yes = 0, no = 0;

	for (uint32_t i = 0; i < r->n; i++)
		if (in_set(r, o, i) && !storm_idset_has(&r->named, i))
			*(judge_holds(*judge_variable(r, i, o->variable),
				      o->relation, (uint64_t) o->value) ?
			  &yes : &no) += 1;
	if (r->compare == STORM_TRUE && no)
		run_violated(r, "a comparison is true, but not on %u nodes",
			     no);
	/* one that is named by now may have said it */
	if (r->compare == STORM_FALSE && !no && !storm_idset_size(&r->named))
		run_violated(r, "a comparison is false, but holds on all %u nodes",
			     yes);
	if (r->compare == STORM_FAILED && !storm_idset_size(&r->named))
		run_violated(r, "a comparison failed, and nobody is named");
	if (r->compare == STORM_TRUE && o->write)
		judge_written(r, o);
}

/* ------------------------------------------------------------------- at last --- */

void judge_reports(struct run *r)
{
	for (uint32_t k = 0; k < r->nsent; k++) {
		const struct sent *x = &r->sent[k];

		for (uint32_t i = 0; x->launch && x->state == STORM_DONE &&
		     i < r->n; i++) {
			if (!in_set(r, x->op, i) ||
			    storm_idset_has(&r->named, i))
				continue;
			if (!storm_idset_has(&x->heard, i))
				run_violated(r, "n%u's report was never heard",
					     i + 1);
			else if (!storm_idset_has(storm_sim_acked(r->sim, i,
							x->kind), i))
				run_violated(r, "n%u's report was never acknowledged",
					     i + 1);
		}
	}
}

bool judge_all_closed(const struct run *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (storm_sim_nm(r->sim, i) &&
		    (storm_sim_session(r->sim, i) ||
		     storm_sim_temporaries(r->sim, i)))
			return false;
	return true;
}

void judge_end(struct run *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		if (!storm_sim_nm(r->sim, i))
			continue;
		if (storm_sim_session(r->sim, i))
			run_violated(r, "n%u kept its session", i + 1);
		if (storm_sim_temporaries(r->sim, i))
			run_violated(r, "n%u kept a temporary file", i + 1);
	}
	for (uint32_t k = 0; k < r->nsent; k++)
		if (r->sent[k].state == STORM_ABORTED)
			judge_transfer(r, &r->sent[k]);
	if (storm_sim_answers(r->sim))
		run_violated(r, "%llu bytes were sent upon what nobody had sealed",
			     (unsigned long long) storm_sim_answers(r->sim));
}
