/*
 * owner_report.c - the master's side of termination detection (Algorithm 8):
 * reports come in from the children's subtrees, and the owner acknowledges all
 * that it has, end to end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "owner_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

/* The delay for what only some nodes wait for.  It doubles while reports go on
 * to come: each acknowledgement wakes up all nodes, and those that start or end
 * tasks are busy. nm_report.c, OVERDUE, must be longer. */
#define ACK_DELAY (100 * STORM_MS)
#define ACK_DELAY_MAX (400 * STORM_MS)
#define ACK_AGAIN (20 * STORM_MS)
#define UNACKED_FIRST (50 * STORM_MS)
#define UNACKED_MAX (1600 * STORM_MS)

int storm_owner_report_forget(struct storm_owner *o, uint8_t kind,
			      const struct storm_idset *ids)
{
	return storm_reports_forget(&o->reports.got, kind, ids, NULL);
}

/* A report that is being taken. */
struct owner_taking {
	struct storm_owner *o;
	int err; /* of memory */
};

static void owner_report_taken(void *arg, uint8_t kind, uint32_t code,
			       const struct storm_idset *ids)
{
	struct owner_taking *t = arg;
	struct storm_owner *o = t->o;
	struct storm_report r = { .kind = kind, .code = code };
	int err;

	if (kind >= STORM_REPORT_KINDS) {
		o->link_stats.bad_wire++;
		return;
	}
	err = storm_reports_add(&o->reports.got, kind, code, ids, &r.ids);
	if (err == STORM_ENOMEM)
		t->err = err;
	if (r.ids.count && o->ops.report)
		o->ops.report(o->arg, &r);
	if (r.ids.count) {
		o->reports.acks |= (uint8_t) (1u << kind);
		o->reports.acked_once = false;
	}
	storm_idset_clear(&r.ids);
}

/* The kinds that nodes wait for: those of which all is here, or all that came
 * before the last kind.  The rest is acknowledged with what follows soon. */
static uint8_t owner_report_awaited(const struct storm_owner *o)
{
	const struct owner_reports *r = &o->reports;
	uint8_t last = o->conf.last_report, whole = 0xff;

	for (uint32_t i = 0; i < o->children; i++)
		whole &= o->child[i].complete;
	if (last)
		return whole >> last & 1 ? r->acks : 0;
	return r->acks & whole;
}

/* For a child the acknowledgement of its message is one end to end. */
static bool owner_report_all_near(const struct storm_owner *o)
{
	return o->children == o->tree.members;
}

static void owner_report_acks_due(struct storm_owner *o, uint64_t now)
{
	struct owner_reports *r = &o->reports;

	if (owner_report_all_near(o))
		r->acks = 0;
	if (r->acked_once)
		return;
	if (owner_report_awaited(o)) {
		r->acks_at = now;
	} else if (r->acks && r->acks_at == STORM_NEVER) {
		if (now > r->acked_at + 2 * r->delay)
			r->delay = ACK_DELAY;
		r->acks_at = now + r->delay;
		r->delay = storm_min(2 * r->delay, ACK_DELAY_MAX);
	}
}

void owner_report_part(struct storm_owner *o, struct storm_child *c,
		       const uint8_t *body, size_t len, uint64_t now)
{
	uint8_t ack[8];
	struct storm_out b = { ack, ack + sizeof(ack), false };
	struct storm_addr to = owner_addr(o, c->node);
	struct owner_taking t = { .o = o };
	size_t total = 0;
	int got = storm_report_rx_part(&c->rx, body, len, UINT64_MAX, &total);

	if (got < 0)
		o->link_stats.bad_wire++;
	if (got <= 0)
		return;
	if (got == 1) {
		if (storm_reports_unpack(c->rx.buf, total, &c->complete,
					 owner_report_taken, &t))
			o->link_stats.bad_wire++;
		if (t.err) {
			storm_report_rx_drop(&c->rx);
			return;
		}
		storm_report_rx_done(&c->rx);
		owner_report_acks_due(o, now);
	}
	storm_put64(&b, c->rx.done);
	storm_link_send(&o->link, STORM_MSG_REPORT_ACK, 0, 0, ack, sizeof(ack),
			&to, 1);
}

/* All nodes are sent all of it, and every STATUS says it again until they are
 * served.  Where nodes are slow and not deaf that alone would keep them busy.
 * The parents of those that missed it repeat it anyway. */
void owner_report_unacked(struct storm_owner *o, uint64_t now)
{
	struct owner_reports *r = &o->reports;

	if (now < r->again_at)
		return;
	if (!r->again_wait || now > r->again_at + UNACKED_MAX)
		r->again_wait = UNACKED_FIRST;
	r->again_at = now + r->again_wait;
	r->again_wait = storm_min(2 * r->again_wait, UNACKED_MAX);
	r->acks = 0xff;
	o->send.lossy = true;
	r->acks_at = now;
}

static void owner_report_ack_body(struct storm_owner *o, const uint8_t *body,
				  size_t len, bool relay)
{
	if (relay)
		owner_cast_body_relay(o, 0, body, len);
	else
		owner_cast_body(o, 0, body, len);
}

/* All that it has of a kind, and had: nodes may wait for what it let go of. */
static void owner_report_had(const struct owner_reports *r, uint8_t kind,
			     struct storm_idset *ids)
{
	/* without memory the next acknowledgement says it */
	storm_reports_of(&r->got, kind, ids);
	storm_idset_union(ids, &r->got.forgotten[kind]);
}

static void owner_report_ack_all(struct storm_owner *o, bool relay)
{
	uint8_t body[STORM_DATAGRAM_MAX];
	uint32_t most = (uint32_t) ((owner_cast_max(o) - 6) / 8);

	for (uint8_t kind = 0; kind < STORM_REPORT_KINDS; kind++) {
		struct storm_idset ids = { 0 };

		if (!(o->reports.acks >> kind & 1))
			continue;
		owner_report_had(&o->reports, kind, &ids);
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
	r->acked_at = now;
	return r->acks_at;
}
