/*
 * pulser.c - see pulser.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <openssl/crypto.h>
#include <stdlib.h>

#include "pulser.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"

/* What a child says of itself may last for long; what is new goes at once. */
#define STATE_EVERY 10 /* signs */

struct pulser_child {
	uint32_t node;
	bool known; /* it was heard, so it can be missed */
	struct storm_pulse_rx rx;
	struct storm_watch watch;
	uint8_t flags, told;
	uint64_t told_at;
};

struct storm_pulser {
	uint64_t every;
	storm_pulse_send send;
	void *arg;
	bool open;
	struct storm_pulse_gate gate;
	struct storm_pulse_tx tx;
	struct storm_pulse_rx owner;
	struct pulser_child child[STORM_RADIX_MAX];
	uint32_t children;
	uint8_t flags;
	uint64_t sign_at, ticked;
};

struct storm_pulser *storm_pulser_create(uint64_t every, storm_pulse_send send,
					 void *arg)
{
	struct storm_pulser *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->every = every;
	p->send = send;
	p->arg = arg;
	return p;
}

static void pulser_child_clear(struct pulser_child *c)
{
	storm_pulse_rx_close(&c->rx);
	memset(c, 0, sizeof(*c));
}

static void pulser_close(struct storm_pulser *p)
{
	for (uint32_t i = 0; i < p->children; i++)
		pulser_child_clear(&p->child[i]);
	p->children = 0;
	storm_pulse_tx_close(&p->tx);
	storm_pulse_rx_close(&p->owner);
	OPENSSL_cleanse(p->gate.key, sizeof(p->gate.key));
	p->open = false;
}

void storm_pulser_destroy(struct storm_pulser *p)
{
	if (!p)
		return;
	pulser_close(p);
	free(p);
}

/* Those that stay keep their rhythm, and what was taken from them. */
static int pulser_children(struct storm_pulser *p,
			   const struct storm_pulse_gate *gate, uint64_t now)
{
	struct pulser_child old[STORM_RADIX_MAX];
	uint32_t n = p->children;
	int err = STORM_OK;

	memcpy(old, p->child, n * sizeof(*old));
	memset(p->child, 0, sizeof(p->child));
	p->children = gate->children;
	for (uint32_t i = 0; i < gate->children; i++) {
		const struct storm_pulse_child *of = &gate->child[i];
		struct pulser_child *c = &p->child[i];

		storm_watch_begin(&c->watch, now);
		for (uint32_t k = 0; k < n; k++)
			if (old[k].node == of->node && old[k].rx.seal) {
				*c = old[k];
				memset(&old[k].rx, 0, sizeof(old[k].rx));
			}
		c->node = of->node;
		err |= storm_pulse_rx_open(&c->rx, gate->key, gate->session,
					   of->node, of->incarnation);
	}
	for (uint32_t k = 0; k < n; k++)
		storm_pulse_rx_close(&old[k].rx);
	return err;
}

int storm_pulser_gate(struct storm_pulser *p,
		      const struct storm_pulse_gate *gate, uint64_t now)
{
	bool same = gate && p->open && gate->session == p->gate.session;

	if (!same)
		pulser_close(p);
	if (!gate)
		return STORM_OK;
	if ((!same || memcmp(gate->incarnation, p->gate.incarnation,
			     sizeof(gate->incarnation))) &&
	    storm_pulse_tx_open(&p->tx, gate->key, gate->session, gate->self,
				gate->incarnation))
		goto fail;
	if (storm_pulse_rx_open(&p->owner, gate->key, gate->session,
				STORM_NO_NODE, gate->owner_incarnation) ||
	    pulser_children(p, gate, now))
		goto fail;
	p->gate = *gate;
	p->tx.epoch = gate->epoch;
	p->open = true;
	if (!same)
		p->sign_at = p->ticked = now;
	return STORM_OK;
fail:
	pulser_close(p);
	return STORM_ENOMEM;
}

bool storm_pulser_same(const struct storm_pulser *p,
		       const struct storm_pulse_gate *gate)
{
	if (!gate || !p->open)
		return !gate && !p->open;
	return !memcmp(&p->gate, gate,
		       offsetof(struct storm_pulse_gate, child) +
			       gate->children * sizeof(gate->child[0]));
}

void storm_pulser_flags(struct storm_pulser *p, uint8_t flags)
{
	if (p->flags != flags)
		p->sign_at = 0; /* now */
	p->flags = flags;
}

static void pulser_send(struct storm_pulser *p, const struct storm_addr *to,
			const struct storm_pulse *pulse, uint64_t op)
{
	uint8_t buf[STORM_PULSE_LEN];

	if (to->port && !storm_pulse_seal(&p->tx, pulse, op, buf))
		p->send(p->arg, to, buf, sizeof(buf));
}

static bool pulser_from_owner(struct storm_pulser *p,
			      const struct storm_header *h, const uint8_t *buf,
			      size_t len)
{
	const struct storm_pulse answer = { .kind = STORM_PULSE_ANSWER,
					    .flags = p->flags };
	struct storm_pulse in;

	if (storm_pulse_open(&p->owner, h, buf, len, &in) ||
	    in.kind != STORM_PULSE_ASK)
		return false;
	pulser_send(p, &p->gate.owner, &answer, h->sequence);
	return true;
}

static bool pulser_from_child(struct storm_pulser *p, struct pulser_child *c,
			      const struct storm_header *h, const uint8_t *buf,
			      size_t len, uint64_t now)
{
	struct storm_pulse in;

	if (storm_pulse_open(&c->rx, h, buf, len, &in) ||
	    in.kind != STORM_PULSE_SIGN)
		return false;
	storm_watch_heard(&c->watch, p->every, now);
	c->known = true;
	c->flags = in.flags;
	return true;
}

bool storm_pulser_take(struct storm_pulser *p, const uint8_t *buf, size_t len,
		       uint64_t now)
{
	struct storm_header h;

	if (!p->open || storm_header_unpack(&h, buf, len) ||
	    h.type != STORM_MSG_PULSE || h.session != p->gate.session)
		return false;
	if (h.sender == STORM_NO_NODE)
		return pulser_from_owner(p, &h, buf, len);
	for (uint32_t i = 0; i < p->children; i++)
		if (p->child[i].node == h.sender)
			return pulser_from_child(p, &p->child[i], &h, buf, len,
						 now);
	return false;
}

/* While this thread stood, the silence was its own. */
static void pulser_forgive(struct storm_pulser *p, uint64_t now)
{
	uint64_t due = p->ticked + p->every;

	for (uint32_t i = 0; now > due && i < p->children; i++)
		storm_watch_forgive(&p->child[i].watch, now - due, now);
	p->ticked = now;
}

/* Is there news of the child, and is it time to tell them? */
static bool pulser_has_news(const struct storm_pulser *p,
			    const struct pulser_child *c, bool quiet,
			    uint64_t now)
{
	if (quiet)
		return now >= c->told_at + p->every;
	return c->flags != c->told ||
	       (c->flags && now >= c->told_at + STATE_EVERY * p->every);
}

static uint64_t pulser_look(struct storm_pulser *p, struct pulser_child *c,
			    uint64_t now)
{
	struct storm_pulse news = { .kind = STORM_PULSE_NEWS,
				    .flags = c->flags,
				    .node = c->node };
	uint64_t next;
	bool quiet;

	if (!c->known)
		return STORM_NEVER;
	quiet = storm_watch_quiet(&c->watch, p->every, now, &next);
	if (pulser_has_news(p, c, quiet, now)) {
		if (quiet)
			news.silence = (uint32_t) storm_min(
				(now - c->watch.heard) / STORM_MS, UINT32_MAX);
		pulser_send(p, &p->gate.owner, &news, 0);
		c->told = c->flags;
		c->told_at = now;
	}
	return quiet ? c->told_at + p->every : next;
}

uint64_t storm_pulser_tick(struct storm_pulser *p, uint64_t now)
{
	const struct storm_pulse sign = { .kind = STORM_PULSE_SIGN,
					  .flags = p->flags };
	uint64_t next;

	if (!p->open)
		return STORM_NEVER;
	pulser_forgive(p, now);
	if (now >= p->sign_at) {
		pulser_send(p, &p->gate.parent, &sign, 0);
		p->sign_at = now < p->sign_at + p->every ?
				     p->sign_at + p->every :
				     now + p->every;
	}
	next = p->sign_at;
	for (uint32_t i = 0; i < p->children; i++)
		next = storm_min(next, pulser_look(p, &p->child[i], now));
	return next;
}
