/*
 * nm_strobe.c - strobes, taken here or in a thread of their own (strobe.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "nm_private.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/protocol/strobe.h"

/* Is the session whole, and this node a member? */
static bool nm_strobe_counts(const struct nm_session *s)
{
	return s->host.ready && !s->closing && !s->member.outside &&
	       !s->member.out_epoch;
}

/* Only the latest strobe counts; one that was overtaken is out of date. */
void nm_strobe_take(struct nm_session *s, uint64_t number,
		    const struct storm_rx *rx, const uint8_t *body, size_t len,
		    uint64_t now)
{
	if (number <= s->var.own[STORM_VAR_HEARTBEAT])
		return;
	s->heard.at = now;
	if (!nm_strobe_counts(s))
		return;
	s->var.own[STORM_VAR_HEARTBEAT] = number;
	s->nm->stats.strobes++;
	if (s->nm->ops.strobe)
		s->nm->ops.strobe(s->nm->host, s->host.ctx, s->host.session,
				  number, rx, body, len);
}

bool storm_nm_gate(struct storm_nm *nm, uint64_t session,
		   struct storm_gate *out)
{
	struct nm_session *s = nm_find_host(nm, session);
	const uint8_t *inc =
		s ? storm_link_incarnation(&s->link, STORM_NO_NODE) : NULL;

	if (!inc || !nm_strobe_counts(s))
		return false;
	memset(out, 0, sizeof(*out));
	out->session = s->link.session;
	memcpy(out->key, s->link.key, sizeof(out->key));
	memcpy(out->incarnation, inc, sizeof(out->incarnation));
	out->epoch = storm_max(s->link.epoch, s->member.in_epoch);
	out->number = s->var.own[STORM_VAR_HEARTBEAT];
	if (s->open->multicast)
		out->group = s->open->group;
	for (uint32_t i = 0; i < s->tree.children; i++)
		if (nm_route(s, s->tree.child[i].node,
			     &out->child[out->children]))
			out->children++;
	return true;
}

void storm_nm_strobed(struct storm_nm *nm, uint64_t session, uint64_t count,
		      uint64_t number, uint64_t at)
{
	struct nm_session *s = nm_find_host(nm, session);

	nm->stats.strobes += count;
	if (!s || number <= s->var.own[STORM_VAR_HEARTBEAT])
		return;
	s->var.own[STORM_VAR_HEARTBEAT] = number;
	s->heard.at = storm_max(s->heard.at, at);
}
