/*
 * step_timed.c - see step_timed.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "src/common/slurm_xlator.h"

#include "src/common/macros.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "session.h"
#include "src/libstorm/base/idset.h"
#include "src/storm_common/step_protocol.h"
#include "step_timed.h"

_Static_assert((int) LAUNCH_SLOT == (int) LAUNCH_PHASE_SLOT &&
		       (int) LAUNCH_EXEC == (int) LAUNCH_PHASE_EXEC &&
		       (int) LAUNCH_OPEN == (int) LAUNCH_PHASE_OPEN,
	       "parts of a record are phases of the timeline");

/* A name, if it is whole, and not words as "9 nodes". */
static void timed_name(char (*out)[LAUNCH_NAME], const char *name)
{
	if ((size_t) snprintf(*out, sizeof(*out), "%s", name) >= sizeof(*out) ||
	    strchr(name, ' '))
		(*out)[0] = '\0';
}

/* ------------------------------------------------------------- other threads --- */

void step_timed_delivered(struct step_timed *t, const struct storm_report *r)
{
	if (!r->ids.count)
		return;
	t->delivered = r->ids.r[r->ids.count - 1].last;
	t->delivered_at = storm_now();
}

void step_timed_slot(struct step_timed *t, const struct storm_report *r)
{
	if (r->ids.count)
		t->slot = r->ids.r[0].first;
}

void step_timed_started(struct storm_session *s, bool first, const char *name)
{
	struct step_timed *t = &s->timed;
	char all[2 * LAUNCH_NAME];

	slurm_mutex_lock(&s->lock);
	if (first) {
		t->starts = 1;
		timed_name(&t->started, name);
	} else {
		t->starts++;
		snprintf(all, sizeof(all), "%s,%s", t->started, name);
		if (t->started[0])
			timed_name(&t->started, all);
	}
	slurm_mutex_unlock(&s->lock);
}

/* ------------------------------------------------------------- the step's own --- */

void step_timed_behind(struct storm_session *s, storm_event_t *event)
{
	struct storm_idset nodes = { 0 };
	char *names;

	if (storm_event_behind(event, &nodes) &&
	    storm_idset_size(&nodes) < s->domain->count) {
		names = step_domain_names(s->domain, &nodes);
		timed_name(&s->timed.behind, names);
		xfree(names);
	}
	storm_idset_clear(&nodes);
}

static void timed_part(struct launch_record *r, enum launch_part part,
		       const struct storm_span *span, uint64_t begin)
{
	if (!span->start || span->end < span->start || span->start < begin) {
		r->part[part].took = LAUNCH_NONE;
		return;
	}
	r->part[part].start =
		(uint32_t) MIN((span->start - begin) / 1000, LAUNCH_LONGEST);
	r->part[part].took =
		(uint32_t) MIN((span->end - span->start) / 1000,
			       LAUNCH_LONGEST - r->part[part].start);
}

static void timed_parts(struct launch_record *r, const struct storm_span *phase)
{
	const struct storm_span *exec = &phase[LAUNCH_PHASE_EXEC];
	struct storm_span part[LAUNCH_PARTS];
	struct storm_span *create = &part[LAUNCH_STEP_CREATE];
	struct storm_span *slot = &part[LAUNCH_SLOT];
	uint64_t begin = 0;

	memcpy(part, phase, sizeof(part));
	if (create->end - create->start > LAUNCH_CREATE_LONGEST * 1000ull)
		create->start = 0;
	/* what of it lies within this launch */
	slot->end = MIN(slot->end, exec->end);
	if (slot->start)
		slot->start = MAX(slot->start, exec->start);
	for (int i = 0; i < LAUNCH_PARTS; i++)
		if (part[i].start && (!begin || part[i].start < begin))
			begin = part[i].start;
	for (int i = 0; i < LAUNCH_PARTS; i++)
		timed_part(r, i, &part[i], begin);
}

static void timed_slow(struct launch_record *r, enum launch_part part,
		       enum launch_wait wait, const char *name)
{
	struct launch_slow *slow = &r->slow[r->slows];

	if (!name[0] || r->slows == LAUNCH_SLOW ||
	    r->part[part].took == LAUNCH_NONE)
		return;
	*slow = (struct launch_slow) { .part = part, .wait = wait };
	timed_name(&slow->name, name);
	r->slows += slow->name[0] != '\0';
}

static const char *timed_node(const struct storm_session *s, uint32_t node)
{
	return node < s->domain->count ? s->domain->names[node] : "";
}

/* In most of exec the last nodes had no word of their slurmd. */
static bool timed_by_slurmd(const struct storm_session *s)
{
	const struct storm_span *exec = &s->rec.phase[LAUNCH_PHASE_EXEC];
	const struct step_timed *t = &s->timed;

	return t->delivered_at > exec->start + (exec->end - exec->start) / 2 &&
	       !strcmp(t->started, timed_node(s, t->delivered));
}

/* The longest phase of a transfer. */
static enum launch_part timed_transfer(const struct launch_record *r)
{
	const uint32_t write = r->part[LAUNCH_WRITE].took,
		       verify = r->part[LAUNCH_VERIFY].took;

	if (write == LAUNCH_NONE || (verify != LAUNCH_NONE && verify > write))
		return LAUNCH_VERIFY;
	return LAUNCH_WRITE;
}

/* With the lock held. */
static void timed_slowest(const struct storm_session *s,
			  struct launch_record *r)
{
	const struct step_timed *t = &s->timed;
	const uint32_t *slot = &r->part[LAUNCH_SLOT].took;
	enum launch_wait wait = LAUNCH_WAIT_STEPD;

	/* with a file, its own phases are there, and not those of the launch
	 * message */
	timed_slow(r, timed_transfer(r), LAUNCH_WAIT_BYTES,
		   s->rec.file ? s->rec.slow : t->behind);
	if (*slot != LAUNCH_NONE)
		timed_slow(r, LAUNCH_SLOT, LAUNCH_WAIT_TURN,
			   timed_node(s, t->slot));
	if (s->rec.resent)
		wait = LAUNCH_WAIT_RESENT;
	else if (*slot != LAUNCH_NONE &&
		 *slot > r->part[LAUNCH_EXEC].took / 2 &&
		 !strcmp(t->started, timed_node(s, t->slot)))
		wait = LAUNCH_WAIT_TURN;
	else if (timed_by_slurmd(s))
		wait = LAUNCH_WAIT_SLURMD;
	/* if all came together nobody was the slowest */
	if (t->starts < s->rec.nodes)
		timed_slow(r, LAUNCH_EXEC, wait, t->started);
}

/* The first node that is there still.  With the lock held. */
static uint32_t timed_keeper(const struct storm_session *s)
{
	uint32_t n = 0;

	while (n < s->signals.nodes && s->signals.told[n] == TOLD_LOST)
		n++;
	return n;
}

void step_timed_tell(struct storm_session *s)
{
	const struct storm_target to = {
		.kind = STORM_TARGET_MEMORY,
		.remote_event = STEP_EVENT_LAUNCHED,
	};
	struct launch_record r = { .nodes = s->rec.nodes,
				   .tasks = s->rec.tasks };
	struct storm_idset keeper = { 0 };
	uint32_t node;
	size_t len;

	if (!s->rec.launched || !s->domain || s->timed.event)
		return;
	slurm_mutex_lock(&s->lock);
	timed_parts(&r, s->rec.phase);
	timed_slowest(s, &r);
	node = timed_keeper(s);
	slurm_mutex_unlock(&s->lock);
	len = launch_record_pack(&r, s->timed.buf);
	if (len && node < s->domain->count &&
	    !storm_idset_add(&keeper, node, node))
		s->timed.event = storm_xfer_and_signal(s->domain->d, &keeper,
						       &to, s->timed.buf, len);
	storm_idset_clear(&keeper);
}

void step_timed_close(struct step_timed *t)
{
	storm_event_destroy(t->event);
	t->event = NULL;
}
