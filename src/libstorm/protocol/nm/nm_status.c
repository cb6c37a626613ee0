/*
 * nm_status.c - what a Node Manager answers: its own state and that of all of its
 * subtree, when there is news, or when the owner asks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "nm_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

#define PROGRESS_EVERY (20 * STORM_MS) /* while data come, at the most */
#define SIGN_UNHEARD (350 * STORM_MS)
#define UNACKED_EVERY (150 * STORM_MS)
#define CALM_AFTER (60 * STORM_SEC)  /* since heartbeats were missing */
#define REFINE_AFTER (20 * STORM_MS) /* an answer that named late nodes */
#define PHASE_AGAIN (4 * STORM_MS)   /* where datagrams are lost */
#define GONE_EVERY (20 * STORM_MS)   /* news of those that are lost */

static bool nm_status_cmp_holds(const struct nm_session *s)
{
	const struct storm_cast *c = &s->heard.cast;

	return (c->cmp_p.count && !storm_idset_has(&c->cmp_p, s->self)) ||
	       storm_relation_holds(s->var.own[c->cmp_var], c->cmp_rel,
				    c->cmp_value);
}

static uint8_t nm_status_own_phase(const struct nm_xfer *x)
{
	/* a failed node delays no other; its fault is in STATUS */
	return x->err && x->phase < STORM_PHASE_STAGED ? STORM_PHASE_STAGED :
							 x->phase;
}

static uint64_t nm_status_own_progress(const struct nm_xfer *x)
{
	return x->err || x->phase >= STORM_PHASE_STAGED ? UINT64_MAX :
	       x->mapped ? storm_chunkmap_progress(nm_xfer_done(x)) :
			   0;
}

static bool nm_status_is_asked(const struct nm_session *s,
			       const struct storm_asked *a)
{
	return !a->p->count || storm_idset_has(a->p, s->self);
}

/* Is this node asked, and has it not come that far? */
static bool nm_status_own_behind(const struct nm_session *s,
				 const struct storm_asked *a)
{
	const struct nm_xfer *x = &s->xfer;

	return nm_status_is_asked(s, a) &&
	       (x->op < a->op || nm_status_own_phase(x) < a->phase ||
		nm_status_own_progress(x) < a->floor);
}

/* The host has not begun the file, because others are under way there. */
static bool nm_status_own_waits(const struct nm_session *s)
{
	const struct nm_xfer *x = &s->xfer;

	return x->opening && x->file && s->nm->ops.file_waits &&
	       s->nm->ops.file_waits(s->nm->host, x->file);
}

/* This node's own state, for its subtree to be merged into. */
static void nm_status_own(const struct nm_session *s, struct storm_status *out,
			  const struct storm_asked *a, uint64_t now)
{
	const struct nm_xfer *x = &s->xfer;
	size_t mtu = s->link.t->ops->mtu(s->link.t);
	bool asked = nm_status_is_asked(s, a);
	bool behind = nm_status_own_behind(s, a);

	storm_status_init(out, a, storm_min(mtu, s->open->mtu));
	if (behind) { /* the claim is without it */
		if (storm_idset_add(&out->behind, s->self, s->self))
			out->phase = STORM_PHASE_NONE;
	} else if (asked && x->op == a->op) {
		out->phase = nm_status_own_phase(x);
	}
	/* a node that does not keep up is not asked: nothing waits for it */
	if (asked && (x->op == a->op || behind))
		out->progress = x->op == a->op ? nm_status_own_progress(x) : 0;
	out->flags = (s->heard.multicast ? STORM_STATUS_MCAST : 0) |
		     (x->op == a->op && x->no ? STORM_STATUS_NO : 0) |
		     (behind && x->op < a->op ? STORM_STATUS_LACKS : 0) |
		     (x->op == a->op && nm_status_own_waits(s) ?
			      STORM_STATUS_WAITS :
			      0) |
		     (now >= nm_report_overdue(s) ? STORM_STATUS_UNACKED : 0);
	out->cmp_false = out->cmp && !nm_status_cmp_holds(s);
	out->last = x->op;
	if (x->decision == STORM_COMMIT)
		out->flags |= STORM_STATUS_COMMITTED;
	if (s->member.outside && storm_idset_add(&out->fresh, s->self, s->self))
		out->phase = STORM_PHASE_NONE;
	/* it takes no part in a comparison */
	if (s->member.outside &&
	    storm_idset_add(&out->unanswered, s->self, s->self))
		out->cmp = 0;
	out->seen = s->heard.cast.version;
	out->repaired = x->repair.repaired;
	out->lost = asked ? x->repair.lost : 0;
	if (x->err && x->op == a->op)
		storm_status_fault(out, s->self, x->err, x->sys);
	else if (s->fault)
		storm_status_fault(out, s->self, s->fault, s->fault_sys);
	for (uint32_t i = 0; i < s->tree.nfaults; i++) {
		const struct storm_fault *f = &s->tree.fault[i];

		storm_status_fault(out, f->node, f->why, f->sys);
	}
}

/* The sum of the subtree, and which of its nodes are late. */
static void nm_status_sum_up(const struct nm_session *s,
			     struct storm_status *st, uint64_t now)
{
	/* An owner that takes over asks which nodes are there.  A node that
	 * missed the previous owner's last operation is not late for that. */
	bool taken = !s->heard.cast.op && s->xfer.op == s->member.taken;
	struct storm_asked a;

	storm_asked_of(&a, &s->heard.cast, taken ? 0 : s->xfer.op);
	if (a.op == s->xfer.op)
		a.named = &s->xfer.begin.p;
	nm_status_own(s, st, &a, now);
	for (uint32_t i = 0; i < s->tree.children; i++) {
		const struct storm_child *c = &s->tree.child[i];

		storm_status_merge(st, &a, &s->tree.shape, c->node,
				   c->heard ? &c->status : NULL);
		if (c->detector.overdue)
			storm_idset_add(&st->overdue, c->node, c->node);
	}
}

/* Nodes that nothing waits for: those below a silent child, and those below a
 * child whose late nodes are all that is late. */
static void nm_status_mute(const struct nm_session *s, struct storm_idset *out)
{
	for (uint32_t i = 0; i < s->tree.children; i++) {
		const struct storm_child *c = &s->tree.child[i];

		if (c->silent) {
			storm_tree_subtree(&s->tree.shape, c->node, out);
		} else if (c->status.flags & STORM_STATUS_SILENT) {
			storm_idset_union(out, &c->status.behind);
			storm_idset_union(out, &c->status.unanswered);
		}
	}
}

/* The status as if those were not asked; only its sets are copies. */
static struct storm_status nm_status_without(const struct storm_status *st,
					     const struct storm_idset *nodes)
{
	struct storm_status s = *st;

	memset(&s.behind, 0, sizeof(s.behind));
	memset(&s.unanswered, 0, sizeof(s.unanswered));
	if (storm_idset_minus(&st->behind, nodes, &s.behind))
		s.phase = STORM_PHASE_NONE;
	if (storm_idset_minus(&st->unanswered, nodes, &s.unanswered))
		s.cmp = 0;
	return s;
}

/* Does this STATUS have news that the parent needs? */
static bool nm_status_tells(const struct nm_session *s,
			    const struct storm_status *st,
			    struct storm_status was)
{
	/* data to memory follow at once: nothing waits for the beginning */
	if (st->op != was.op && s->xfer.begin.to.kind != STORM_TARGET_FILE &&
	    !was.behind.count) {
		was.op = st->op;
		was.phase = STORM_PHASE_BEGUN;
	}
	return storm_status_news(&was, st);
}

static bool nm_status_has_news(const struct nm_session *s,
			       struct storm_status *st)
{
	struct storm_idset nodes = { 0 };
	struct storm_status was, is;
	bool yes, late = st->behind.count || st->unanswered.count;

	nm_status_mute(s, &nodes);
	if (!nodes.count)
		return nm_status_tells(s, st, s->status.sent);
	is = nm_status_without(st, &nodes);
	was = nm_status_without(&s->status.sent, &nodes);
	if (late && !is.behind.count && !is.unanswered.count)
		st->flags |= STORM_STATUS_SILENT;
	yes = nm_status_tells(s, &is, was);
	storm_idset_clear(&is.behind);
	storm_idset_clear(&is.unanswered);
	storm_idset_clear(&was.behind);
	storm_idset_clear(&was.unanswered);
	storm_idset_clear(&nodes);
	return yes;
}

/* Progress goes up in steps of the window, or at a pace. */
static bool nm_status_moved(const struct nm_session *s,
			    const struct storm_status *st, uint64_t now)
{
	uint64_t had = s->status.sent.progress;

	return st->progress != UINT64_MAX && st->progress > had &&
	       (st->progress - had >= s->open->window / 8 ||
		now >= s->status.sent_at + PROGRESS_EVERY);
}

/* An answer named late nodes: report once which of them are late no more, and
 * at once when none is late. */
static bool nm_status_refines(struct nm_session *s,
			      const struct storm_status *st, uint64_t now)
{
	/* at the opening it is asked often enough */
	if (!s->status.answering || (!s->heard.cast.op && !s->heard.cast.cmp) ||
	    !storm_status_caught_up(&s->status.sent, st))
		return false;
	if (now < s->status.asked_at + REFINE_AFTER) {
		s->status.refine_at = storm_min(
			s->status.refine_at, s->status.asked_at + REFINE_AFTER);
		return false;
	}
	s->status.answering = false;
	return true;
}

/* Lost nodes are news, at a pace: many may be lost at the same time. */
static bool nm_status_lost(struct nm_session *s, const struct storm_status *st,
			   uint64_t now)
{
	if (storm_idset_covers(&s->status.sent.gone, &st->gone))
		return false;
	if (now >= s->status.sent_at + GONE_EVERY)
		return true;
	s->status.refine_at =
		storm_min(s->status.refine_at, s->status.sent_at + GONE_EVERY);
	return false;
}

/* An OPEN may come from a host that does not know what its users send: as long as
 * nothing of the owner's follows, it brings no more out than it brought in.  Its TCP
 * sends at least five packets. */
#define OPEN_HEADS (5 * 40)
#define DATAGRAM_HEADS (28 + STORM_HEADER_LEN + STORM_TAG_LEN)

static bool nm_status_pays(struct nm_session *s, size_t len, size_t times)
{
	size_t bytes = s->unheard_bytes + times * (DATAGRAM_HEADS + len);

	if (s->heard.cast.version || s->account.trusted)
		return true;
	if (bytes > s->open_bytes + OPEN_HEADS)
		return false;
	s->unheard_bytes = bytes;
	return true;
}

static void nm_status_send(struct nm_session *s, struct storm_status *st,
			   uint64_t now)
{
	uint8_t body[STORM_DATAGRAM_MAX];
	size_t max = nm_body_up(storm_body_max(st->mtu));
	struct storm_addr to[2];
	size_t n, nto;

	st->version = ++s->status.version;
	n = storm_status_pack(st, body, max);
	nto = nm_route(s, s->tree.parent, &to[0]);
	if (now < s->status.direct_until && s->tree.parent != STORM_NO_NODE &&
	    nm_route(s, STORM_NO_NODE, &to[nto]))
		nto++;
	if (n && nto && nm_status_pays(s, n, nto))
		storm_link_send(&s->link, STORM_MSG_STATUS, 0, st->op, body, n,
				to, nto);
	s->status.sent_at = now;
	s->status.refine_at = STORM_NEVER;
	/* all wait for this one: to ask for it takes longer */
	s->status.again_at = s->xfer.repair.lost &&
					     st->phase != s->status.sent.phase ?
				     now + PHASE_AGAIN :
				     STORM_NEVER;
	storm_status_free(&s->status.sent);
	s->status.sent = *st;
}

void nm_status_update(struct nm_session *s, bool asked, uint64_t now)
{
	struct storm_status st;

	nm_status_sum_up(s, &st, now);
	if (nm_status_has_news(s, &st) || asked ||
	    nm_status_lost(s, &st, now) || nm_status_moved(s, &st, now) ||
	    nm_status_refines(s, &st, now))
		nm_status_send(s, &st, now);
	else
		storm_status_free(&st);
	if (!s->status.sent.behind.count && !s->status.sent.unanswered.count)
		s->status.answering = false;
}

void nm_status_join(struct nm_session *s, uint64_t now)
{
	uint8_t body[STORM_DATAGRAM_MAX];
	struct storm_asked a;
	struct storm_status st;
	size_t n;

	storm_asked_of(&a, &s->heard.cast, s->xfer.op);
	nm_status_own(s, &st, &a, now);
	st.version = ++s->status.version;
	/* only a node that knows it is outside can notice that it is in */
	if (s->member.out_epoch)
		st.flags |= STORM_STATUS_JOIN;
	n = storm_status_pack(&st, body, nm_body_up(storm_body_max(st.mtu)));
	storm_link_send(&s->link, STORM_MSG_STATUS, 0, 0, body, n,
			&s->open->owner, 1);
	storm_status_free(&st);
}

/* ------------------------------------------------------------------ timers --- */

/* How often the parent is to hear of this node.  Two missing heartbeats show that
 * datagrams are lost; what is said here may be, too.  Strobes would hide that. */
static uint64_t nm_status_every(struct nm_session *s, uint64_t now)
{
	uint64_t every;

	if (now >= s->heard.at + 5 * s->open->heartbeat / 2)
		s->heard.calm_at = now + CALM_AFTER;
	every = storm_sign_every(s->open->dead_timeout, s->open->heartbeat,
				 s->open->cluster || now < s->heard.calm_at);
	/* the parent sees by this that nothing reaches the node */
	return s->heard.cast.version ? every : storm_min(every, SIGN_UNHEARD);
}

/* A report is a sign of life, too.  But only a STATUS repeats what may have been
 * lost, so reports put it off only once. */
static uint64_t nm_status_due(const struct nm_session *s, uint64_t every)
{
	uint64_t last = storm_max(s->status.sent_at, s->report.sent_at);

	return s->member.out_epoch ?
		       STORM_NEVER :
		       storm_min(last + every, s->status.sent_at + 2 * every);
}

/* The next sign of life. */
static uint64_t nm_status_sign(struct nm_session *s, uint64_t now)
{
	uint64_t every = nm_status_every(s, now), at = nm_status_due(s, every);

	if (now < at)
		return at;
	nm_status_update(s, true, now);
	return now + every;
}

/* The owner's acknowledgement of a report is overdue: ask for it. */
static uint64_t nm_status_overdue(struct nm_session *s, uint64_t now)
{
	uint64_t at = nm_report_overdue(s);

	if (now < at)
		return at;
	at = s->status.sent_at + UNACKED_EVERY;
	if (now < at)
		return at;
	nm_status_update(s, true, now);
	return now + UNACKED_EVERY;
}

/* A file is on its way: news of how far it has come. */
static uint64_t nm_status_progress(struct nm_session *s, uint64_t now)
{
	if (!s->xfer.mapped || s->xfer.phase != STORM_PHASE_BEGUN)
		return STORM_NEVER;
	nm_status_update(s, false, now);
	return now + PROGRESS_EVERY;
}

uint64_t nm_status_tick(struct nm_session *s, uint64_t now)
{
	uint64_t next = nm_status_sign(s, now);

	next = storm_min(next, nm_status_overdue(s, now));
	if (now >= s->status.refine_at) {
		s->status.refine_at = STORM_NEVER;
		nm_status_update(s, false, now);
	}
	next = storm_min(next, s->status.refine_at);
	if (now >= s->status.again_at)
		nm_status_update(s, true, now);
	next = storm_min(next, s->status.again_at);
	return storm_min(next, nm_status_progress(s, now));
}
