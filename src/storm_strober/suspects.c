/*
 * suspects.c - see suspects.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/minmax.h"
#include "src/storm_common/no_gang.h"
#include "suspects.h"

/* Between two rounds that have the same end: less and less often.  A connection leaves a
 * line in slurmd's log, and a node that is powered down need not be asked.  One that
 * comes back is asked at once. */
#define ASK_FIRST STORM_SEC
#define ASK_LAST (60 * STORM_SEC)
/* There may be no other sign of a slurmd's return. */
#define ASK_REFUSED (5 * STORM_SEC)
/* One that was never heard may just be starting, with slurmctld. */
#define ASK_NEVER (5 * STORM_SEC)

int suspects_begin(struct suspects *s, uint32_t nodes)
{
	struct suspect *node = calloc(nodes + 1, sizeof(*node));

	if (!node)
		return ENOMEM;
	suspects_clear(s);
	s->node = node;
	s->nodes = nodes;
	s->changed = true;
	return 0;
}

void suspects_clear(struct suspects *s)
{
	free(s->node);
	memset(s, 0, sizeof(*s));
}

static bool suspects_is(const struct suspect *n)
{
	return n->found;
}

static void suspects_drop(struct suspects *s, struct suspect *n)
{
	*n = (struct suspect) { .asking = n->asking };
	s->count--;
}

static void suspects_judge(struct suspects *s, struct suspect *n, uint64_t now)
{
	uint16_t cause, state;

	n->c.since = now - n->found;
	state = verdict_of(&n->c, &cause);
	s->changed |= state != n->c.state || cause != n->cause;
	n->c.state = state;
	n->cause = cause;
	if (!state && n->c.heard && !n->c.gone)
		suspects_drop(s, n);
}

static void suspects_add(struct suspects *s, struct suspect *n, uint64_t heard,
			 uint64_t now)
{
	if (suspects_is(n))
		return;
	n->found = now;
	n->heard = heard;
	n->kind = SUSPECTS_SILENT;
	n->c.never = !heard;
	n->ask_at = heard ? now : now + ASK_NEVER;
	n->stale = n->asking;
	s->count++;
}

/* Its slurmd is asked again. */
static void suspects_return(struct suspect *n, uint64_t now)
{
	n->c.heard = true;
	n->c.never = n->c.gone = n->c.signs = false;
	n->c.slurmd = n->c.agent = ANSWER_NONE;
	n->c.rounds = 0;
	n->asked = STROBER_UNKNOWN;
	n->ask_at = now;
	n->stale = n->asking;
}

/* One that had come back, or of which less was known, is asked at once.  Another word
 * of the same silence is no news. */
static void suspects_again(struct suspect *n, enum suspects_kind kind,
			   uint64_t heard, uint64_t now)
{
	n->c.gone = kind == SUSPECTS_SLURMD_GONE;
	/* what did not answer while it gave signs proves nothing now */
	if (n->c.signs && kind == SUSPECTS_SILENT)
		n->c.rounds = 0;
	n->c.signs = kind == SUSPECTS_HUNG || kind == SUSPECTS_CUT;
	if (n->c.heard)
		n->found = now;
	if (n->c.heard ||
	    (n->kind != SUSPECTS_SILENT && kind == SUSPECTS_SILENT)) {
		n->heard = heard;
		n->ask_at = now;
	}
	n->kind = kind;
	n->c.heard = false;
}

/* Without STORM_ELOST it had no connection, and was never heard. */
bool suspects_fault(const struct storm_fault *f, bool opening, uint64_t now,
		    enum suspects_kind *kind, uint64_t *heard)
{
	*heard = now;
	switch (f->why) {
	case STORM_EBUSY:
		*kind = SUSPECTS_SLURMD_GONE;
		return f->sys == NO_GANG_SLURMD;
	case STORM_ELOST:
		*kind = f->sys == ENOLINK ? SUSPECTS_CUT : SUSPECTS_SILENT;
		if (opening && f->sys != ENOLINK)
			*heard = 0;
		return true;
	case STORM_ENOAGENT:
	case STORM_ETIME:
	case STORM_ESYS:
		*kind = SUSPECTS_SILENT;
		*heard = 0;
		return true;
	default:
		return false;
	}
}

void suspects_find(struct suspects *s, uint32_t node, enum suspects_kind kind,
		   uint64_t heard, uint64_t now)
{
	struct suspect *n;

	if (node >= s->nodes)
		return;
	n = &s->node[node];
	if (kind == SUSPECTS_BACK) {
		if (!suspects_is(n))
			return;
		suspects_return(n, now);
	} else {
		suspects_add(s, n, heard, now);
		suspects_again(n, kind, heard, now);
	}
	suspects_judge(s, n, now);
}

uint32_t suspects_ask(struct suspects *s, uint64_t now)
{
	uint32_t first = s->nodes;

	for (uint32_t i = 0; s->count && i < s->nodes; i++)
		if (suspects_is(&s->node[i]) && !s->node[i].asking &&
		    s->node[i].ask_at <= now &&
		    (first == s->nodes ||
		     s->node[i].ask_at < s->node[first].ask_at))
			first = i;
	if (first < s->nodes)
		s->node[first].asking = true;
	return first;
}

void suspects_answer(struct suspects *s, uint32_t node, bool slurmd,
		     enum verdict_answer answer, uint64_t now)
{
	struct suspect *n = &s->node[node];

	if (node >= s->nodes || !suspects_is(n) || n->stale)
		return;
	if (answer != ANSWER_SILENT)
		n->c.rounds = 0;
	*(slurmd ? &n->c.slurmd : &n->c.agent) = answer;
	suspects_judge(s, n, now);
}

void suspects_round(struct suspects *s, uint32_t node, bool void_, uint64_t now)
{
	struct suspect *n = &s->node[node];
	bool silent, stale = n->stale;

	if (node >= s->nodes)
		return;
	n->asking = n->stale = false;
	if (!suspects_is(n) || stale)
		return;
	silent = n->c.slurmd == ANSWER_SILENT && n->c.agent == ANSWER_SILENT;
	if (silent && !void_)
		n->c.rounds++;
	suspects_judge(s, n, now);
	if (!suspects_is(n))
		return;
	n->ask_at = now;
	if (n->c.state != STROBER_FOUND)
		return;
	n->pause =
		n->cause != n->asked ?
			ASK_FIRST :
			storm_min(2 * n->pause, n->c.slurmd == ANSWER_REFUSED ?
							ASK_REFUSED :
							ASK_LAST);
	n->asked = n->cause;
	n->ask_at = now + n->pause;
}

uint64_t suspects_next(const struct suspects *s)
{
	uint64_t next = STORM_NEVER;

	for (uint32_t i = 0; s->count && i < s->nodes; i++) {
		const struct suspect *n = &s->node[i];

		if (!suspects_is(n))
			continue;
		if (!n->asking)
			next = storm_min(next, n->ask_at);
		if (!n->c.state)
			next = storm_min(next, n->found + VERDICT_HOLD);
	}
	return next;
}

void suspects_look(struct suspects *s, uint64_t now)
{
	for (uint32_t i = 0; s->count && i < s->nodes; i++)
		if (suspects_is(&s->node[i]) && !s->node[i].c.state)
			suspects_judge(s, &s->node[i], now);
}

bool suspects_changed(struct suspects *s)
{
	bool changed = s->changed;

	s->changed = false;
	return changed;
}

uint32_t suspects_get(const struct suspects *s, struct strober_failed *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; s->count && i < s->nodes; i++)
		if (s->node[i].c.state)
			out[n++] = (struct strober_failed) {
				.node = i,
				.state = s->node[i].c.state,
				.cause = s->node[i].cause,
				.heard = s->node[i].heard,
				.found = s->node[i].found,
			};
	return n;
}
