/*
 * nm_cluster.c - a node in the cluster domain: what it keeps from one owner to
 * the next, how it leaves, and how it comes back.
 *
 * A step domain ends with its owner.  The cluster domain does not: the node
 * keeps its variables and the operation under way, and an owner that OPENs the same
 * cluster in a higher epoch finds them in the session that it made.  The old
 * session is gone at that moment, and with it whatever the old owner may still
 * send.
 *
 * A node that was excluded, or has forgotten, is *outside*: it shows nothing,
 * takes part in nothing, and sends JOIN to the owner under a new incarnation.
 * It is in again when the owner sends WELCOME to that very incarnation: a state
 * that merely does not name it as excluded may come from an owner that does
 * not know yet what it has forgotten, or that means a life of it before.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "nm_private.h"
#include "src/libstorm/base/idset.h"

#define JOIN_EVERY (200 * STORM_MS)

struct nm_session *nm_cluster_find(struct storm_nm *nm, uint64_t cluster)
{
	struct nm_session *s = nm->sessions;

	while (s && (!cluster || s->open->cluster != cluster || s->closing))
		s = s->next;
	return s;
}

/* All that the host knows of the session goes along: its number at the host,
 * the file that is being opened, staged or renamed. */
void nm_cluster_take(struct nm_session *s, struct nm_session *from)
{
	if (!from) {
		/* When a domain is founded there is nothing to remember.  But
		 * a node that gets a later OPEN may have been in it before. */
		s->member.outside = s->open->cluster &&
				    (!s->open->founding || s->open->late);
		return;
	}
	s->host.session = from->host.session;
	s->host.ctx = from->host.ctx;
	s->host.ready = from->host.ready;
	from->host.ready = false;
	nm_request_end_all(from);
	s->var = from->var;
	s->member.outside = from->member.outside;
	s->xfer = from->xfer;
	s->member.taken = s->xfer.op;
	memset(&from->xfer, 0, sizeof(from->xfer));
	from->closing = true;
}

/* What it was a member for is void, and so is its incarnation. */
static void nm_cluster_leave(struct nm_session *s)
{
	struct storm_nm *nm = s->nm;
	uint8_t inc[STORM_INCARNATION_LEN];

	nm_request_end_all(s);
	s->request.last_id = 0;
	nm_xfer_forget(s);
	memset(&s->var, 0, sizeof(s->var));
	for (int i = 0; i < STORM_SEGMENTS; i++)
		if (nm->segment[i].base)
			memset(nm->segment[i].base, 0, nm->segment[i].len);
	s->member.outside = true;
	if (storm_random(inc, sizeof(inc)) ||
	    storm_link_reborn(&s->link, inc)) {
		storm_log(
			STORM_LOG_ERROR,
			"cluster domain: no new incarnation for this node, it stays outside until the next owner");
		s->closing = true;
	}
}

void nm_cluster_excluded(struct nm_session *s, uint32_t epoch, uint64_t now)
{
	if (!s->member.outside) {
		storm_log(
			STORM_LOG_WARN,
			"cluster domain: this node was excluded in epoch %u, it asks to join again",
			epoch);
		nm_cluster_leave(s);
	}
	storm_children_free(s->tree.child, s->tree.children);
	s->tree.child = NULL;
	s->tree.children = 0;
	s->link.epoch = epoch;
	s->member.out_epoch = epoch;
	s->member.join_at = now;
}

void nm_cluster_welcome(struct nm_session *s, struct storm_in *in,
			uint32_t epoch)
{
	uint32_t node = storm_get32(in);
	const uint8_t *inc = storm_get(in, STORM_INCARNATION_LEN);
	uint64_t op = storm_get64(in);

	if (!storm_in_done(in)) {
		s->nm->link_stats.bad_wire++;
		return;
	}
	if (!s->member.out_epoch || epoch <= s->member.out_epoch ||
	    node != s->self ||
	    memcmp(inc, s->link.incarnation, STORM_INCARNATION_LEN))
		return;
	storm_log(STORM_LOG_INFO,
		  "cluster domain: this node has joined in epoch %u", epoch);
	s->member.outside = false;
	s->member.out_epoch = 0;
	s->member.in_epoch = epoch;
	nm_xfer_skip(s, op);
}

uint64_t nm_cluster_tick(struct nm_session *s, uint64_t now)
{
	/* Without multicast an excluded node is not notified: a node that has
	 * lost its parent asks, too. */
	if (!s->member.outside && !s->member.orphan)
		return STORM_NEVER;
	if (now >= s->member.join_at) {
		nm_status_join(s, now);
		s->member.join_at =
			now +
			(s->member.outside ? JOIN_EVERY : s->open->heartbeat);
	}
	return s->member.join_at;
}
