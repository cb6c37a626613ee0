/*
 * nm_pulse.c - signs of life, given and watched here, or in a thread of their
 * own (pulser.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "nm_private.h"
#include "src/libstorm/protocol/pulser.h"

#define DEAF_BEATS 4 /* heartbeats of the owner's that a node misses */

/* Is this node a member, and of a domain that has signs? */
static bool nm_pulse_counts(const struct nm_session *s)
{
	return s->nm->set.pulse && s->open->cluster && s->host.ready &&
	       !s->closing && !s->member.outside && !s->member.out_epoch;
}

static bool nm_pulse_gate(struct nm_session *s, struct storm_pulse_gate *out)
{
	const uint8_t *owner = storm_link_incarnation(&s->link, STORM_NO_NODE);

	if (!nm_pulse_counts(s) || !owner)
		return false;
	memset(out, 0, sizeof(*out));
	out->session = s->link.session;
	memcpy(out->key, s->link.key, sizeof(out->key));
	out->self = s->self;
	out->epoch = s->link.epoch;
	memcpy(out->incarnation, s->link.incarnation, sizeof(out->incarnation));
	memcpy(out->owner_incarnation, owner, sizeof(out->owner_incarnation));
	if (!nm_route(s, STORM_NO_NODE, &out->owner))
		out->owner.port = 0;
	if (!nm_route(s, s->tree.parent, &out->parent))
		out->parent.port = 0;
	for (uint32_t i = 0; i < s->tree.children; i++) {
		uint32_t node = s->tree.child[i].node;
		const uint8_t *inc = storm_link_incarnation(&s->link, node);
		struct storm_pulse_child *c = &out->child[out->children];

		if (!inc || nm_child_gone(s, node))
			continue;
		c->node = node;
		memcpy(c->incarnation, inc, sizeof(c->incarnation));
		out->children++;
	}
	return true;
}

bool storm_nm_pulse_gate(struct storm_nm *nm, uint64_t session,
			 struct storm_pulse_gate *out)
{
	struct nm_session *s = nm_find_host(nm, session);

	return s && nm_pulse_gate(s, out);
}

static uint64_t nm_pulse_deaf_at(const struct nm_session *s)
{
	return s->heard.at + DEAF_BEATS * s->open->heartbeat;
}

uint64_t storm_nm_pulse_deaf_at(struct storm_nm *nm, uint64_t session)
{
	struct nm_session *s = nm_find_host(nm, session);

	return s ? nm_pulse_deaf_at(s) : STORM_NEVER;
}

void storm_nm_pulse_elsewhere(struct storm_nm *nm)
{
	nm->pulse_elsewhere = true;
}

static void nm_pulse_send(void *arg, const struct storm_addr *to,
			  const void *buf, size_t len)
{
	struct nm_session *s = arg;

	s->link.t->ops->send(s->link.t, STORM_CONTROL, to, buf, len, len);
}

void nm_pulse_take(struct nm_session *s, const struct storm_rx *rx,
		   uint64_t now)
{
	if (!s->pulser || !storm_pulser_take(s->pulser, rx->buf, rx->len, now))
		s->nm->link_stats.bad_seal++;
}

uint64_t nm_pulse_tick(struct nm_session *s, uint64_t now)
{
	struct storm_pulse_gate gate;
	bool on = !s->nm->pulse_elsewhere && nm_pulse_gate(s, &gate);

	if (on && !s->pulser)
		s->pulser =
			storm_pulser_create(s->nm->set.pulse, nm_pulse_send, s);
	if (!s->pulser)
		return STORM_NEVER;
	if (!storm_pulser_same(s->pulser, on ? &gate : NULL))
		storm_pulser_gate(s->pulser, on ? &gate : NULL, now);
	storm_pulser_flags(s->pulser,
			   now > nm_pulse_deaf_at(s) ? STORM_PULSE_DEAF : 0);
	return storm_pulser_tick(s->pulser, now);
}

void nm_pulse_end(struct nm_session *s)
{
	storm_pulser_destroy(s->pulser);
	s->pulser = NULL;
}
