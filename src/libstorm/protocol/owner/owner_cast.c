/*
 * owner_cast.c - what the owner sends to all nodes: its whole state, announced
 * operations, acknowledgements of reports, and strobes.  They go by multicast
 * where that reaches all nodes, else down the tree.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "owner_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/wire/excluded.h"

#define CAST_TO_MAX (64 + ADOPTED_MAX) /* addresses */

/* As long as it is not known whether multicast reaches all, it is tried too. */
bool owner_cast_by_group(const struct storm_owner *o)
{
	return o->send.multicast ||
	       (o->conf.set.multicast && o->phase != OWNER_OPEN);
}

/* Those of the children that to_child chooses; NULL: all, and those adopted. */
static size_t owner_cast_addrs(const struct storm_owner *o,
			       owner_child_fn to_child,
			       struct storm_addr to[static CAST_TO_MAX])
{
	size_t n = to_child ? 0 : owner_round_addrs(o, to);

	for (uint32_t i = 0; i < o->children; i++)
		if (!to_child || to_child(o, &o->child[i]))
			to[n++] = owner_addr(o, o->child[i].node);
	return n;
}

/* Down the tree. */
static void owner_cast_relay(struct storm_owner *o, uint8_t type, uint64_t op,
			     const uint8_t *body, size_t len)
{
	struct storm_addr to[CAST_TO_MAX];
	size_t n = owner_cast_addrs(o, NULL, to);

	if (n)
		storm_link_send(&o->link, type, STORM_HDR_RELAY, op, body, len,
				to, n);
}

static void owner_cast_send(struct storm_owner *o, uint8_t type, uint64_t op,
			    const uint8_t *body, size_t len)
{
	if (owner_cast_by_group(o))
		storm_link_send(&o->link, type, 0, op, body, len,
				&o->open->group, 1);
	else
		owner_cast_relay(o, type, op, body, len);
}

void owner_cast_body(struct storm_owner *o, uint64_t op, const uint8_t *body,
		     size_t len)
{
	owner_cast_send(o, STORM_MSG_CAST, op, body, len);
}

void owner_cast_body_relay(struct storm_owner *o, uint64_t op,
			   const uint8_t *body, size_t len)
{
	owner_cast_relay(o, STORM_MSG_CAST, op, body, len);
}

size_t owner_cast_max(const struct storm_owner *o)
{
	return storm_body_max(o->send.mtu);
}

bool owner_cast_fits(const struct storm_owner *o, const struct storm_idset *p)
{
	uint32_t mtu = o->phase < OWNER_OPEN ? o->open->mtu : o->send.mtu;

	return storm_set_len(p) <= storm_cast_set_max(storm_body_max(mtu));
}

/* Do the excluded nodes leave room for the other sets? */
bool owner_cast_in_parts(const struct storm_owner *o)
{
	return storm_set_len(&o->cast.excluded) >
	       storm_cast_set_max(owner_cast_max(o));
}

/* In the first epoch the nodes have them by OPEN. */
static void owner_cast_excluded(struct storm_owner *o, uint16_t flags,
				const struct storm_addr *to, size_t n)
{
	uint8_t body[STORM_DATAGRAM_MAX];
	uint16_t parts;

	if (o->link.epoch == o->open->epoch || !owner_cast_in_parts(o))
		return;
	parts = storm_excluded_parts(o->conf.count, owner_cast_max(o));
	for (uint16_t i = 0; i < parts; i++) {
		size_t len = storm_excluded_pack(&o->cast.excluded,
						 o->conf.count, i, parts, body);

		storm_link_send(&o->link, STORM_MSG_CAST, flags, 0, body, len,
				to, n);
	}
}

/* The version that is the latest, with these flags. */
static size_t owner_cast_pack_again(struct storm_owner *o, uint8_t flags,
				    uint8_t body[static STORM_DATAGRAM_MAX])
{
	o->cast.flags = flags | (owner_cast_in_parts(o) ? STORM_CAST_PARTS : 0);
	return storm_cast_pack(&o->cast, body, owner_cast_max(o));
}

static size_t owner_cast_pack(struct storm_owner *o, uint8_t flags,
			      uint8_t body[static STORM_DATAGRAM_MAX])
{
	o->cast.version++;
	o->send.state_at = o->ticked;
	return owner_cast_pack_again(
		o, flags | (o->send.multicast ? 0 : STORM_CAST_CHAIN), body);
}

void owner_cast_state(struct storm_owner *o, uint8_t flags)
{
	uint8_t body[STORM_DATAGRAM_MAX];
	size_t len = owner_cast_pack(o, flags, body);

	owner_cast_body(o, o->cast.op, body, len);
}

void owner_cast_state_to(struct storm_owner *o, uint8_t flags, bool relay,
			 const struct storm_addr *to, size_t n)
{
	uint16_t hdr = relay ? STORM_HDR_RELAY : 0;
	uint8_t body[STORM_DATAGRAM_MAX];
	size_t len = owner_cast_pack(o, flags, body);

	if (!n)
		return;
	owner_cast_excluded(o, hdr, to, n);
	storm_link_send(&o->link, STORM_MSG_CAST, hdr, o->cast.op, body, len,
			to, n);
}

void owner_cast_state_whole(struct storm_owner *o)
{
	struct storm_addr to[CAST_TO_MAX];

	if (owner_cast_by_group(o))
		owner_cast_state_to(o, 0, false, &o->open->group, 1);
	else
		owner_cast_state_to(o, 0, true, to,
				    owner_cast_addrs(o, NULL, to));
}

void owner_cast_state_relay(struct storm_owner *o, uint8_t flags,
			    owner_child_fn to_child)
{
	struct storm_addr to[CAST_TO_MAX];

	owner_cast_state_to(o, flags, true, to,
			    owner_cast_addrs(o, to_child, to));
}

/* The state in its latest version. */
static void owner_cast_again(struct storm_owner *o, uint16_t flags,
			     const struct storm_addr *to)
{
	uint8_t body[STORM_DATAGRAM_MAX];
	size_t len = owner_cast_pack_again(o, o->cast.flags & STORM_CAST_CHAIN,
					   body);

	owner_cast_excluded(o, flags, to, 1);
	storm_link_send(&o->link, STORM_MSG_CAST, flags, o->cast.op, body, len,
			to, 1);
}

/* A heartbeat is the only one in a second: a node that misses all of them for
 * some seconds takes its owner for dead, and its subtree does so too. */
void owner_cast_again_node(struct storm_owner *o, uint32_t node)
{
	struct storm_addr to = owner_addr(o, node);

	/* by multicast those below have heard it themselves */
	owner_cast_again(o, owner_cast_by_group(o) ? 0 : STORM_HDR_RELAY, &to);
}

void owner_cast_again_group(struct storm_owner *o)
{
	owner_cast_again(o, 0, &o->open->group);
}

/* Sent once, whether it arrives or not: the next one has what is true then.
 * Numbers restart with each epoch, above those of the epoch before, and so
 * they do with each owner. */
uint64_t storm_owner_strobe(struct storm_owner *o, const void *body, size_t len)
{
	uint64_t first = (uint64_t) o->link.epoch << 32;

	if (o->phase != OWNER_OPEN || len > STORM_STROBE_MAX)
		return 0;
	if (++o->send.strobe < first)
		o->send.strobe = first;
	owner_cast_send(o, STORM_MSG_STROBE, o->send.strobe, body, len);
	return o->send.strobe;
}
