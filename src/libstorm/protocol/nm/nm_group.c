/*
 * nm_group.c - does the session's multicast reach this node?  The owner sends its
 * state to the group, and down the tree to those that owe an answer.  A node to which
 * it comes only down the tree says so in STATUS.  It also has its host join the groups
 * again: a switch may have forgotten it, where no IGMP querier asks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "nm_private.h"
#include "src/libstorm/base/log_limit.h"

/* So many states of a step domain come another way and none by the group, for so
 * long.  With three datagrams in ten lost that is one case in a thousand. */
#define BESIDE 6
#define BESIDE_FOR (20 * STORM_MS)
#define AGAIN_AFTER (2 * STORM_SEC)

/* One that was stopped has both before it. */
static bool nm_group_is_missed(const struct nm_session *s, uint64_t now)
{
	const struct nm_heard *h = &s->heard;

	return h->beside >= BESIDE && now >= h->beside_at + BESIDE_FOR;
}

/* Two heartbeats were lost. */
static uint64_t nm_group_patience(const struct nm_session *s)
{
	return 5 * s->open->heartbeat / 2;
}

static bool nm_group_is_deaf(const struct nm_session *s, uint64_t now)
{
	const struct nm_heard *h = &s->heard;

	if (now < h->since + nm_group_patience(s))
		return false;
	/* there it comes by the group at each heartbeat */
	if (s->open->cluster)
		return now >= h->group_at + nm_group_patience(s);
	return nm_group_is_missed(s, now);
}

static void nm_group_join_again(struct nm_session *s, uint64_t now)
{
	struct storm_nm *nm = s->nm;
	const struct storm_log_source all = { 0 };

	if (!s->open->multicast || !nm->t->ops->join_again ||
	    now < nm->joined_at + AGAIN_AFTER)
		return;
	nm->joined_at = now;
	nm->stats.joined_again++;
	nm->t->ops->join_again(nm->t);
	storm_log_from(
		&all, STORM_LOG_WARN,
		"no multicast comes here: the groups are joined again, and until it comes data go along the chain; let an IGMP querier run in the network, or set Multicast=no in storm.conf");
}

void nm_group_heard(struct nm_session *s, bool group, uint64_t now)
{
	struct nm_heard *h = &s->heard;

	/* one that stood or was cut off has missed all, and not the group alone */
	if (now >= h->at + nm_group_patience(s))
		h->since = now;
	if (group) {
		h->multicast = true;
		h->group_at = now;
		h->beside = 0;
		return;
	}
	/* the owner has given multicast up, for the sake of others */
	if (!s->open->cluster && h->multicast &&
	    h->cast.flags & STORM_CAST_CHAIN)
		return;
	if (!h->beside++)
		h->beside_at = now;
	if (!nm_group_is_deaf(s, now))
		return;
	h->multicast = false;
	if (nm_group_is_missed(s, now))
		nm_group_join_again(s, now);
}
