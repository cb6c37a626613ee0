/*
 * owner_report.c - the master's side of termination detection (Algorithm 8):
 * reports come in from the children's subtrees, and the owner acknowledges all
 * that it has, end to end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"
#include "owner_private.h"

#define ACK_DELAY (100 * STORM_MS) /* of a part; all is acknowledged at once */
#define ACK_AGAIN (20 * STORM_MS)

static void owner_report_taken(void *arg, uint8_t kind, uint32_t code,
			       const struct storm_idset *ids)
{
	struct storm_owner *o = arg;
	struct storm_report r = { .kind = kind, .code = code };

	if (kind >= STORM_REPORT_KINDS) {
		o->link_stats.bad_wire++;
		return;
	}
	storm_reports_add(&o->reports.got, kind, code, ids, &r.ids);
	if (r.ids.count && o->ops.report)
		o->ops.report(o->arg, &r);
	if (r.ids.count) {
		o->reports.acks |= (uint8_t) (1u << kind);
		o->reports.acked_once = false;
	}
	storm_idset_clear(&r.ids);
}

/* A part of a kind is acknowledged with what follows soon, all of it now. */
static void owner_report_acks_due(struct storm_owner *o, uint64_t now)
{
	struct owner_reports *r = &o->reports;
	uint8_t whole = r->acks;

	if (r->acked_once)
		return;
	for (uint32_t i = 0; i < o->children; i++)
		whole &= o->child[i].complete;
	if (whole)
		r->acks_at = now;
	else if (r->acks && r->acks_at > now + ACK_DELAY)
		r->acks_at = now + ACK_DELAY;
}

void owner_report_part(struct storm_owner *o, struct storm_child *c,
		       const uint8_t *body, size_t len, uint64_t now)
{
	uint8_t ack[8];
	struct storm_out b = { ack, ack + sizeof(ack), false };
	struct storm_addr to = owner_addr(o, c->node);
	size_t total = 0;
	int got = storm_report_rx_part(&c->rx, body, len, UINT64_MAX, &total);

	if (got < 0)
		o->link_stats.bad_wire++;
	if (got <= 0)
		return;
	if (got == 1) {
		if (storm_reports_unpack(c->rx.buf, total, &c->complete,
					 owner_report_taken, o))
			o->link_stats.bad_wire++;
		storm_report_rx_done(&c->rx);
		owner_report_acks_due(o, now);
	}
	storm_put64(&b, c->rx.done);
	storm_link_send(&o->link, STORM_MSG_REPORT_ACK, 0, 0, ack, sizeof(ack),
			&to, 1);
}

void owner_report_unacked(struct storm_owner *o, uint64_t now)
{
	o->reports.acks = 0xff;
	o->send.lossy = true;
	o->reports.acks_at = now;
}

static void owner_report_ack_body(struct storm_owner *o, const uint8_t *body,
				  size_t len, bool relay)
{
	if (relay)
		owner_cast_body_relay(o, 0, body, len);
	else
		owner_cast_body(o, 0, body, len);
}

static void owner_report_ack_all(struct storm_owner *o, bool relay)
{
	uint8_t body[STORM_DATAGRAM_MAX];
	uint32_t most = (uint32_t) ((owner_cast_max(o) - 6) / 8);

	for (uint8_t kind = 0; kind < STORM_REPORT_KINDS; kind++) {
		struct storm_idset ids = { 0 };

		if (!(o->reports.acks >> kind & 1))
			continue;
		storm_reports_of(&o->reports.got, kind, &ids);
		/* every part is good by itself */
		for (uint32_t at = 0; at < ids.count; at += most) {
			uint32_t n = storm_min(ids.count - at, most);
			struct storm_idset part = { ids.r + at, n, n };
			struct storm_out b = { body, body + sizeof(body),
					       false };

			storm_put8(&b, STORM_CAST_ACKED);
			storm_put8(&b, kind);
			storm_put_idset(&b, &part);
			owner_report_ack_body(o, body, (size_t) (b.p - body),
					      relay);
		}
		storm_idset_clear(&ids);
	}
}

/* Where datagrams are lost an acknowledgement is sent twice: a node that misses
 * it waits long, and its step with it. */
uint64_t owner_report_tick(struct storm_owner *o, uint64_t now)
{
	struct owner_reports *r = &o->reports;
	bool missed = r->acks == 0xff;

	if (!r->acks)
		return STORM_NEVER;
	if (now < r->acks_at)
		return r->acks_at;
	owner_report_ack_all(o, missed);
	r->acked_once = o->send.lossy && !missed && !r->acked_once;
	if (!r->acked_once)
		r->acks = 0;
	r->acks_at = r->acked_once ? now + ACK_AGAIN : STORM_NEVER;
	return r->acks_at;
}
