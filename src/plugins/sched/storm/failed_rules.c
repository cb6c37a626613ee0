/*
 * failed_rules.c - see failed_rules.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stddef.h>
#include <string.h>

#include "failed_rules.h"
#include "src/libstorm/base/minmax.h"

/* The greater one counts. */
#define MAX_PERCENT 5
#define MAX_NODES 3

#define USEC 1000000
/* us: what the witness needs to find a host unreachable (verdict.h) */
#define WITNESS 600000

uint32_t failed_limit(const struct storm_gang_conf *conf, uint32_t nodes)
{
	if (!conf->failed_max)
		return (uint32_t) storm_max(
			MAX_NODES, (uint64_t) nodes * MAX_PERCENT / 100);
	if (conf->failed_percent)
		return (uint32_t) ((uint64_t) nodes * conf->failed_max / 100);
	return conf->failed_max;
}

/* ------------------------------------------------------------- what is known --- */

/* The host answers, whatever is wrong there. */
static bool failed_answers(const struct failed_view *v)
{
	return v->state == STROBER_FOUND && v->cause != STROBER_UNREACHABLE;
}

/* from: ns; when it was heard, or found. */
static void failed_take_silence(struct failed_view *v,
				const struct failed_view *was, uint64_t from,
				uint64_t now, int64_t wall)
{
	if (v->state == STROBER_SUSPECT) {
		v->suspect_at = was->state == STROBER_SUSPECT ?
					was->suspect_at :
				was->state ? now :
					     from;
		v->suspect = now > v->suspect_at ? now - v->suspect_at : 0;
	}
	v->answered = failed_answers(v) || was->answered;
	v->lost = failed_answers(v) ? 0 : was->lost;
	if (v->state == STROBER_FOUND && !failed_answers(v) && was->answered) {
		v->answered = false;
		v->lost = wall - WITNESS;
	}
}

/* A strober knows nothing of a node that it never heard.  But slurmctld does if an
 * earlier one has found it, and no one has heard it since.  That is a failure as soon as
 * this strober has found the cause, too: until then its suspicion proves nothing. */
void failed_take_word(struct failed_view *v, const struct strober_failed *x,
		      uint64_t now, int64_t wall)
{
	const struct failed_view was = *v;
	uint64_t from;

	*v = (struct failed_view) { 0 };
	if (!x)
		return;
	from = x->heard ? x->heard : x->found;
	v->state = x->state;
	v->cause = x->cause;
	v->silent = now > from ? now - from : 0;
	v->heard = wall - (int64_t) (v->silent / 1000);
	failed_take_silence(v, &was, from, now, wall);
	if (x->heard)
		return;
	v->known = was.state && was.cause != STROBER_RETURNING &&
		   (!was.never || was.known);
	v->never = !v->known || v->state != STROBER_FOUND;
	if (was.state)
		v->heard = was.heard;
}

/* A time that is to come is of before the clock was set back. */
bool failed_talks(const struct failed_view *v, int64_t response, int64_t wall)
{
	int64_t since = v->lost > v->heard ? v->lost : v->heard;

	return v->state && response > since / USEC + 1 &&
	       response <= wall / USEC + 1;
}

/* 22.05 makes a Reason root's when it is reconfigured. */
bool failed_is_our_reason(const char *reason, uint32_t uid, uint32_t slurm)
{
	return reason && (!uid || uid == slurm) &&
	       (!strncmp(reason, FAILED_NO_HEARTBEAT,
			 strlen(FAILED_NO_HEARTBEAT)) ||
		!strncmp(reason, FAILED_NO_SLURMD, strlen(FAILED_NO_SLURMD)));
}

bool failed_is_same_run(bool gone, uint32_t now, uint32_t then)
{
	return gone || now == then;
}

/* ----------------------------------------------------------------------- acts --- */

/* Nothing there answers: by the witness, or for so long that no witness is needed. */
static bool failed_is_dead(const struct failed_rule *r,
			   const struct failed_view *v)
{
	return (v->state == STROBER_FOUND && v->cause == STROBER_UNREACHABLE) ||
	       (v->state == STROBER_SUSPECT && v->suspect >= r->act_after);
}

static bool failed_lacks_slurmd(const struct failed_view *v)
{
	return v->state == STROBER_FOUND && v->cause == STROBER_SLURMD_GONE;
}

bool failed_is_silent(const struct failed_view *v)
{
	return v->state == STROBER_SUSPECT ||
	       (v->state == STROBER_FOUND && v->cause == STROBER_UNREACHABLE);
}

bool failed_may_fail(const struct failed_view *v)
{
	return !v->excused && !v->never;
}

bool failed_counts(const struct failed_view *v)
{
	return failed_may_fail(v) &&
	       (failed_is_silent(v) || failed_lacks_slurmd(v));
}

/* What cannot be taken back. */
static unsigned int failed_strong(const struct failed_rule *r,
				  const struct failed_view *v,
				  struct failed_memory *m)
{
	bool dead = failed_is_dead(r, v);
	/* it may just be restarted */
	bool idle = failed_lacks_slurmd(v) && v->silent >= r->act_after;
	unsigned int acts = 0;

	m->answered |= failed_answers(v);
	if (r->many || v->never || v->talks || (!dead && !idle))
		return 0;
	/* what has begun while the host answered is given up, too */
	if (dead && (!m->ended || m->answered)) {
		m->ended = true;
		m->answered = false;
		acts |= FAILED_END;
	}
	if (m->took || r->policy == FAILED_REPORT)
		return acts;
	/* without slurmd its tasks run on: nobody ends them */
	if (dead && r->policy == FAILED_DOWN)
		acts |= FAILED_TAKE_DOWN;
	else if (!v->taken)
		acts |= FAILED_TAKE_DRAIN;
	m->took |= acts & (FAILED_TAKE_DOWN | FAILED_TAKE_DRAIN);
	return acts;
}

/* Is it worth a word to the jobs?  Not that slurmd is restarted, or an agent. */
static bool failed_is_told(const struct failed_rule *r,
			   const struct failed_view *v,
			   const struct failed_memory *m)
{
	if (v->never || v->cause == STROBER_RETURNING || m->told > v->state ||
	    (m->told == v->state && m->cause == v->cause))
		return false;
	if (v->state == STROBER_SUSPECT || v->cause == STROBER_UNREACHABLE ||
	    m->told)
		return true;
	return failed_lacks_slurmd(v) && v->silent >= r->act_after;
}

unsigned int failed_acts(const struct failed_rule *r,
			 const struct failed_view *v, struct failed_memory *m)
{
	unsigned int acts = 0;

	if (v->state && v->excused) {
		*m = (struct failed_memory) { 0 };
		return 0;
	}
	if (!v->state) {
		acts = (m->told ? FAILED_SAY_BACK : 0) |
		       (v->ours ? FAILED_RESUME : 0);
		*m = (struct failed_memory) { 0 };
		return acts;
	}
	acts = failed_strong(r, v, m);
	/* what is given up was said to go on, if they were so many before */
	if (acts & FAILED_END || failed_is_told(r, v, m)) {
		m->told = v->state;
		m->cause = v->cause;
		acts |= FAILED_SAY;
	}
	return acts;
}

/* ---------------------------------------------------------------------- words --- */

const char *failed_cause(const struct failed_view *v)
{
	static const char *const cause[] = {
		[STROBER_UNKNOWN] = "nothing there has answered yet",
		[STROBER_UNREACHABLE] = "host unreachable",
		[STROBER_SLURMD_GONE] = "the host answers, slurmd does not",
		[STROBER_SLURMD_HUNG] = "slurmd is stopped, or hangs",
		[STROBER_AGENT] = "slurmd answers, its agent does not",
		[STROBER_DEAF] =
			"it gives signs of life, and nothing from slurmctld's host reaches it",
		[STROBER_RETURNING] = "it is coming back",
	};

	return v->cause < sizeof(cause) / sizeof(cause[0]) ? cause[v->cause] :
							     cause[0];
}

const char *failed_outcome(const struct failed_view *v,
			   const struct failed_memory *m, bool many)
{
	if (v->state == STROBER_FOUND && v->cause != STROBER_UNREACHABLE)
		return m->ended ? "; what ran there was given up" :
				  "; what runs there goes on";
	if (m->ended && !m->answered)
		return "; what runs there is given up";
	return v->state == STROBER_FOUND && many ?
		       "; so are many nodes at once, so nothing is given up yet" :
		       "";
}

const char *failed_word(const struct failed_rule *r,
			const struct failed_view *v)
{
	static const char *const word[] = {
		[STROBER_UNKNOWN] = "silent",
		[STROBER_UNREACHABLE] = "host-unreachable",
		[STROBER_SLURMD_GONE] = "slurmd-gone",
		[STROBER_SLURMD_HUNG] = "slurmd-hung",
		[STROBER_AGENT] = "agent-silent",
		[STROBER_DEAF] = "deaf",
	};

	if (!v->state || v->excused || v->cause >= STROBER_RETURNING)
		return NULL;
	/* an agent that never was there is none that has failed */
	if (v->never && !v->known && v->cause != STROBER_UNREACHABLE)
		return NULL;
	if (v->state == STROBER_FOUND && v->cause != STROBER_UNREACHABLE &&
	    v->silent < r->act_after)
		return NULL;
	return word[v->cause];
}
