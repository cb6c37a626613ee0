/*
 * nm_session.c - sessions by number, and what a host reads or sets in one.
 * Every other part may call it, and it calls none of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "nm_private.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/base/sorted.h"

#define RELAY_RATE (4u << 20) /* bytes a second */
#define RELAY_BURST (4u << 20)

struct nm_session *nm_find(struct storm_nm *nm, uint64_t session)
{
	struct nm_session *s = nm->sessions;

	while (s && s->link.session != session)
		s = s->next;
	return s;
}

struct nm_session *nm_find_host(struct storm_nm *nm, uint64_t session)
{
	struct nm_session *s = nm->sessions;

	while (s && (s->host.session != session || s->closing))
		s = s->next;
	return s;
}

static uint64_t nm_route_node(const void *route)
{
	return ((const struct nm_route_to *) route)->node;
}

/* Without memory it is asked for again. */
static void nm_route_keep(struct nm_routes *r, uint32_t at, uint32_t node,
			  const struct storm_addr *addr)
{
	if (r->count == r->room) {
		uint32_t room = r->room ? 2 * r->room : 16;
		struct nm_route_to *p = realloc(r->to, room * sizeof(*p));

		if (!p)
			return;
		r->to = p;
		r->room = room;
	}
	memmove(&r->to[at + 1], &r->to[at], (r->count++ - at) * sizeof(*r->to));
	r->to[at] = (struct nm_route_to) { node, *addr };
}

bool nm_route(struct nm_session *s, uint32_t node, struct storm_addr *to)
{
	struct nm_routes *r = &s->routes;
	char name[STORM_NAME_MAX + 1];
	uint32_t at;

	if (node == STORM_NO_NODE) { /* the host has checked it */
		*to = s->open->owner;
		return true;
	}
	at = storm_sorted_at(r->to, r->count, sizeof(*r->to), node,
			     nm_route_node);
	if (at < r->count && r->to[at].node == node) {
		*to = r->to[at].addr;
		return true;
	}
	*to = storm_nodes_addr(&s->open->nodes, node);
	if (!s->nm->ops.route || s->account.trusted)
		return true;
	if (s->nm->ops.route(s->nm->host,
			     storm_nodes_name(&s->open->nodes, node, &name),
			     to))
		return false;
	nm_route_keep(r, at, node, to);
	return true;
}

void nm_send(struct nm_session *s, uint8_t type, uint64_t op, const void *body,
	     size_t len, uint32_t node)
{
	struct storm_addr to;

	if (nm_route(s, node, &to))
		storm_link_send(&s->link, type, 0, op, body, len, &to, 1);
}

/* Known once data are sent: they fill a datagram. */
size_t nm_body_max(const struct nm_session *s)
{
	uint32_t chunk = s->heard.cast.chunk;

	return storm_min(chunk ? STORM_DATA_HEADER_LEN + chunk :
				 STORM_DATAGRAM_MAX,
			 storm_body_max(s->open->mtu));
}

/* A datagram of the owner's, or of a child, makes one for each child.  The session
 * has so many bytes a second for that; a user's needs far less. */
bool nm_relay_pays(struct nm_session *s, size_t len, uint64_t now)
{
	uint64_t more = (now - s->relay.at) / (STORM_SEC / RELAY_RATE);

	if (s->account.trusted)
		return true;
	if (more) {
		s->relay.bytes = storm_min(s->relay.bytes + more, RELAY_BURST);
		s->relay.at = now;
	}
	if (s->relay.bytes < len)
		return false;
	s->relay.bytes -= len;
	return true;
}

void nm_said_keep(struct nm_said *said, const struct storm_rx *rx, uint64_t now)
{
	uint8_t *p = realloc(said->buf, rx->len);

	if (!p)
		return;
	said->buf = p;
	memcpy(p, rx->buf, rx->len);
	said->len = rx->len;
	said->at = now;
}

int storm_nm_self(struct storm_nm *nm, uint64_t session, uint32_t *self)
{
	struct nm_session *s = nm_find_host(nm, session);

	if (!s)
		return STORM_ENOENT;
	*self = s->self;
	return STORM_OK;
}

int storm_nm_epoch(struct storm_nm *nm, uint64_t session, uint32_t *epoch,
		   bool *outside)
{
	struct nm_session *s = nm_find_host(nm, session);

	if (!s)
		return STORM_ENOENT;
	*epoch = s->link.epoch;
	*outside = s->member.outside;
	return STORM_OK;
}

bool storm_nm_owner_is_silent(struct storm_nm *nm, uint64_t session)
{
	const struct nm_session *s = nm_find_host(nm, session);

	return s && s->member.orphan;
}

uint64_t nm_variable(const struct nm_session *s, uint32_t var)
{
	return var < STORM_VARS ? s->var.own[var] :
				  s->var.global[var - STORM_GLOBAL(0)];
}

int storm_nm_variable(struct storm_nm *nm, uint64_t session, uint32_t var,
		      uint64_t *value)
{
	struct nm_session *s = nm_find_host(nm, session);

	if (!s)
		return STORM_ENOENT;
	if (!storm_var_known(var))
		return STORM_EINVAL;
	*value = nm_variable(s, var);
	return STORM_OK;
}

int storm_nm_own_set(struct storm_nm *nm, uint64_t session,
		     enum storm_own_var var, uint64_t value)
{
	struct nm_session *s = nm_find_host(nm, session);

	if (!s)
		return STORM_ENOENT;
	if (var >= STORM_VARS)
		return STORM_EINVAL;
	if (value > s->var.own[var])
		s->var.own[var] = value;
	return STORM_OK;
}

uint64_t storm_nm_find_step(struct storm_nm *nm, uint32_t job_id,
			    uint32_t step_id, uint32_t step_het)
{
	for (struct nm_session *s = nm->sessions; s; s = s->next)
		if (s->host.ready && !s->closing && s->open->job_id == job_id &&
		    s->open->step_id == step_id &&
		    s->open->step_het == step_het)
			return s->host.session;
	return 0;
}

size_t storm_nm_sessions(const struct storm_nm *nm, uint64_t *session,
			 size_t max)
{
	size_t n = 0;

	for (const struct nm_session *s = nm->sessions; s; s = s->next)
		if (n++ < max)
			session[n - 1] = s->link.session;
	return n;
}

uint64_t storm_nm_refused(const struct storm_nm *nm)
{
	const struct storm_link_stats *l = &nm->link_stats;

	return l->bad_wire + l->bad_session + l->bad_seal + l->replayed +
	       l->fenced;
}
