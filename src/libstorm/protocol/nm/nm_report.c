/*
 * nm_report.c - a node's reports and those of its subtree, on their way up:
 * the slave's side of termination detection (Algorithm 9).  Where the paper
 * resets a flag, reports are cumulative and stay: nothing is lost by a retry.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "nm_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

/* How long a part of the whole waits for the rest before it goes up, see HOLD_WELL.
 * What ended well is of no use to the owner before all of it is there; a failure
 * is. */
#define RTO_FIRST (50 * STORM_MS)
#define RTO_MAX (500 * STORM_MS)
/* The owner's acknowledgement is overdue this long, and a hold on each level of
 * the tree, after the report: see owner_report.c, ACK_DELAY_MAX. */
#define OVERDUE (700 * STORM_MS)

/* The kinds of which every id expected below and here is known, a bit each. */
static uint8_t nm_report_complete(const struct nm_session *s)
{
	const struct nm_report *r = &s->report;
	uint8_t kinds = 0;

	for (uint8_t k = 0; k < STORM_REPORT_KINDS; k++) {
		uint64_t have = 0;

		for (uint32_t i = 0; i < r->mine.count; i++)
			if (r->mine.e[i].kind == k)
				have += storm_idset_size(&r->mine.e[i].ids);
		if (r->expect[k] && have >= r->expect[k])
			kinds |= (uint8_t) (1u << k);
	}
	for (uint32_t i = 0; i < s->tree.children; i++)
		kinds &= s->tree.child[i].complete;
	return kinds;
}

/* There is more to report: choose when. */
static void nm_report_changed(struct nm_session *s, bool haste, uint64_t now)
{
	struct nm_report *r = &s->report;
	uint8_t was = r->complete;
	uint64_t hold = r->hold_most;

	r->complete = nm_report_complete(s);
	r->version++;
	r->rto = RTO_FIRST;
	/* a leaf that was told to be quick has nobody to wait for */
	if (r->complete & ~was ||
	    (!s->tree.children && r->hold_most < HOLD_WELL)) {
		hold = 0;
	} else if (haste) {
		/* failures that come one by one come less and less often */
		if (now > r->sent_at + 2 * r->hold_most)
			r->hold = storm_min(HOLD_HASTE, r->hold_most);
		hold = r->hold;
	}
	if (r->due_at > now + hold)
		r->due_at = now + hold;
}

/* What was added to all that is known. */
struct nm_news {
	struct nm_session *s;
	bool any, haste;
	int err; /* of memory */
};

static int nm_report_merge(struct nm_news *n, uint8_t kind, uint32_t code,
			   const struct storm_idset *ids)
{
	struct storm_idset fresh = { 0 };
	int err = storm_reports_add(&n->s->report.all, kind, code, ids, &fresh);

	if (fresh.count) {
		n->any = true;
		n->haste |= code != 0 && kind != STORM_REPORT_VALUE;
	}
	storm_idset_clear(&fresh);
	return err;
}

/* A host's session, for reports of this kind. */
static int nm_report_of(struct storm_nm *nm, uint64_t session, uint8_t kind,
			struct nm_session **out)
{
	*out = nm_find_host(nm, session);
	if (!*out)
		return STORM_ENOENT;
	return kind < STORM_REPORT_KINDS ? STORM_OK : STORM_EINVAL;
}

int storm_nm_expect(struct storm_nm *nm, uint64_t session, uint8_t kind,
		    uint32_t count)
{
	struct nm_session *s;
	int err = nm_report_of(nm, session, kind, &s);

	if (!err)
		s->report.expect[kind] = count;
	return err;
}

int storm_nm_report_hold(struct storm_nm *nm, uint64_t session, uint64_t most)
{
	struct nm_session *s = nm_find_host(nm, session);

	if (!s)
		return STORM_ENOENT;
	s->report.hold_most = most;
	s->report.hold = storm_min(s->report.hold, most);
	return STORM_OK;
}

int storm_nm_report_forget(struct storm_nm *nm, uint64_t session, uint8_t kind,
			   const struct storm_idset *ids)
{
	struct nm_session *s;
	struct nm_report *r;
	bool any = false;
	int err = nm_report_of(nm, session, kind, &s);

	if (err)
		return err;
	r = &s->report;
	err = storm_reports_forget(&r->all, kind, ids, &any);
	/* parts may be on their way, and would be joined with other ones */
	if (any && r->hop_acked != r->version)
		r->version++;
	if (!err)
		err = storm_reports_forget(&r->mine, kind, ids, NULL);
	/* a node below the owner hears only of its own, which have gaps */
	if (!err)
		err = storm_idset_union(&r->acked[kind], ids);
	return err;
}

int storm_nm_report(struct storm_nm *nm, uint64_t session, uint8_t kind,
		    uint32_t code, const struct storm_idset *ids, uint64_t now)
{
	struct nm_news n = { 0 };
	struct nm_session *s;
	int err = nm_report_of(nm, session, kind, &s);

	if (err)
		return err;
	if (s->closing)
		return STORM_ENOENT;
	n.s = s;
	/* first where it goes up from: mine are let go of when all is there */
	err = nm_report_merge(&n, kind, code, ids);
	if (!err)
		err = storm_reports_add(&s->report.mine, kind, code, ids, NULL);
	if (n.any) /* on an error, too: another attempt has no news */
		nm_report_changed(s, n.haste, now);
	if (err)
		return err;
	s->report.mine_at = now;
	s->report.mine_in = s->report.version;
	return STORM_OK;
}

static void nm_report_from_child(void *arg, uint8_t kind, uint32_t code,
				 const struct storm_idset *ids)
{
	struct nm_news *n = arg;

	if (kind >= STORM_REPORT_KINDS)
		n->s->nm->link_stats.bad_wire++;
	else if (nm_report_merge(n, kind, code, ids) == STORM_ENOMEM)
		n->err = STORM_ENOMEM;
}

void nm_report_part(struct nm_session *s, struct storm_child *c,
		    const uint8_t *body, size_t len, uint64_t now)
{
	struct nm_news n = { .s = s };
	uint8_t ack[8];
	struct storm_out o = { ack, ack + sizeof(ack), false };
	size_t total = 0;
	int got = storm_report_rx_part(&c->rx, body, len,
				       storm_account_left(&s->account), &total);

	if (got < 0) {
		s->nm->link_stats.bad_wire++;
		return;
	}
	if (got == 0)
		return;
	if (got == 1) {
		if (storm_reports_unpack(c->rx.buf, total, &c->complete,
					 nm_report_from_child, &n))
			s->nm->link_stats.bad_wire++;
		/* what has been taken is no news when it comes again */
		if (n.any || nm_report_complete(s) & ~s->report.complete)
			nm_report_changed(s, n.haste, now);
		if (n.err) {
			storm_report_rx_drop(&c->rx);
			return;
		}
		storm_report_rx_done(&c->rx);
	}
	storm_put64(&o, c->rx.done);
	nm_send(s, STORM_MSG_REPORT_ACK, 0, ack, sizeof(ack), c->node);
}

/* The owner has these ids: end to end, so the host may let go of them. */
static void nm_report_owner_has(struct nm_session *s, uint8_t kind,
				const struct storm_idset *ids)
{
	struct storm_idset *acked = &s->report.acked[kind];

	if (!storm_idset_union(acked, ids) && s->host.ready)
		s->nm->ops.acked(s->nm->host, s->host.ctx, kind, acked);
}

void nm_report_acked(struct nm_session *s, struct storm_in *in)
{
	uint8_t kind = storm_get8(in);
	struct storm_idset ids = { 0 };

	storm_get_idset(in, &ids, UINT32_MAX - 1);
	if (!storm_in_done(in) || kind >= STORM_REPORT_KINDS)
		s->nm->link_stats.bad_wire++;
	else
		nm_report_owner_has(s, kind, &ids);
	storm_idset_clear(&ids);
}

void nm_report_release(struct nm_session *s)
{
	const struct storm_reports *mine = &s->report.mine;

	for (uint32_t i = 0; i < mine->count; i++)
		nm_report_owner_has(s, mine->e[i].kind, &mine->e[i].ids);
}

void nm_report_hop_acked(struct nm_session *s, const uint8_t *body, size_t len)
{
	struct nm_report *r = &s->report;
	struct storm_in i = { body, body + len, false };
	uint64_t v = storm_get64(&i);

	if (!storm_in_done(&i) || v > r->version) {
		s->nm->link_stats.bad_wire++;
		return;
	}
	if (v > r->hop_acked)
		r->hop_acked = v;
	if (r->hop_acked == r->version)
		r->due_at = STORM_NEVER;
	if (s->tree.parent == STORM_NO_NODE && v >= r->mine_in)
		nm_report_release(s);
}

uint64_t nm_report_overdue(const struct nm_session *s)
{
	const struct nm_report *r = &s->report;

	for (uint32_t i = 0; i < r->mine.count; i++)
		if (!storm_idset_covers(&r->acked[r->mine.e[i].kind],
					&r->mine.e[i].ids))
			return r->mine_at + OVERDUE +
			       s->tree.height * HOLD_WELL;
	return STORM_NEVER;
}

/* A new parent has heard nothing. */
void nm_report_reset(struct nm_session *s, uint64_t now)
{
	s->report.hop_acked = 0;
	if (s->report.version)
		nm_report_changed(s, true, now);
}

uint64_t nm_report_tick(struct nm_session *s, uint64_t now)
{
	struct nm_report *r = &s->report;
	size_t max = nm_body_up(nm_body_max(s)) - STORM_REPORT_PART_HEADER;
	uint8_t body[STORM_DATAGRAM_MAX], *buf;
	size_t len = 0;
	uint32_t parts;

	if (r->hop_acked == r->version)
		return STORM_NEVER;
	if (now < r->due_at)
		return r->due_at;
	buf = storm_reports_pack(&r->all, r->complete, &len);
	if (!buf) { /* there is no memory now: nm.c looks whether they fit */
		r->due_at = now + RTO_MAX;
		return r->due_at;
	}
	parts = (uint32_t) (len / max) + (len % max != 0 || !len);
	for (uint32_t p = 0; p < parts; p++) {
		size_t off = (size_t) p * max;
		size_t n = storm_min(len - off, max);
		struct storm_out o = { body, body + sizeof(body), false };

		storm_put64(&o, r->version);
		storm_put16(&o, (uint16_t) p);
		storm_put16(&o, (uint16_t) parts);
		storm_put32(&o, (uint32_t) max);
		storm_put(&o, buf + off, n);
		nm_send(s, STORM_MSG_REPORT, 0, body, (size_t) (o.p - body),
			s->tree.parent);
	}
	free(buf);
	r->sent_at = now;
	r->hold = storm_min(2 * r->hold, r->hold_most);
	r->due_at = now + r->rto;
	r->rto = r->rto * 2 > RTO_MAX ? RTO_MAX : r->rto * 2;
	return r->due_at;
}
