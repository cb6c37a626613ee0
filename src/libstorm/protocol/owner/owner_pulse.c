/*
 * owner_pulse.c - who of a cluster domain is quiet (paper section 2.4.3).
 *
 * The owner watches its children in the tree, which give signs of life, and
 * every other node watches its own.  A node says at once whose signs it misses.
 * The owner then asks that node itself.  If it answers, the path between the
 * two is cut; if not, it is a suspect.  Nobody watches the children of a
 * suspect, so the owner asks them as often as they give signs, as long as it is
 * one.
 *
 * All of that is found in a quarter of a second, and nothing follows from it
 * here: who is excluded, and when, is owner_member.c's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "owner_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

/* The owner asks this many nodes beside its children; if more are quiet, they
 * are found when the others are. */
#define ASKED_MAX 256
/* A node that another one misses is asked for so long after the last word.  The
 * path between them counts as cut if that word is not older than NEWS_NOW, and the
 * node has answered the owner for PATH_AFTER since the first one.  All in signs. */
#define NEWS_LAST 20
#define NEWS_NOW 4
#define PATH_AFTER 10

struct owner_watched {
	uint32_t node;
	uint32_t of; /* the suspect whose child it is, or STORM_NO_NODE */
	bool child;  /* of the owner: it gives signs, and need not be asked */
	bool known;  /* it was heard, so it can be missed */
	bool path;   /* as told */
	enum storm_finding_kind says; /* of itself, as told */
	uint64_t missed_at; /* when another node said last that it misses it */
	uint64_t since;	    /* when the first of these words came */
	uint64_t ask_at;
	uint64_t question; /* sequence of the oldest ASK that may be answered */
	struct storm_watch watch;
	struct storm_pulse_rx rx;
};

/* ns of so many signs. */
static uint64_t owner_signs(const struct storm_owner *o, unsigned int n)
{
	return n * o->conf.set.pulse;
}

static struct owner_watched *owner_watched_find(const struct storm_owner *o,
						uint32_t node)
{
	for (uint32_t i = 0; i < o->pulse.count; i++)
		if (o->pulse.watched[i].node == node)
			return &o->pulse.watched[i];
	return NULL;
}

static struct owner_watched *owner_watched_add(struct storm_owner *o,
					       uint32_t node, uint64_t now)
{
	struct owner_pulse *p = &o->pulse;
	struct owner_watched *w;

	if (p->count >= ASKED_MAX + o->children)
		return NULL;
	if (p->count == p->room) {
		uint32_t room = p->room ? 2 * p->room : 16;

		w = realloc(p->watched, room * sizeof(*w));
		if (!w)
			return NULL;
		p->watched = w;
		p->room = room;
	}
	w = &p->watched[p->count++];
	memset(w, 0, sizeof(*w));
	w->node = node;
	w->of = STORM_NO_NODE;
	w->says = STORM_FINDING_BACK;
	w->ask_at = now;
	storm_watch_begin(&w->watch, now);
	return w;
}

static void owner_watched_remove(struct storm_owner *o, struct owner_watched *w)
{
	storm_pulse_rx_close(&w->rx);
	*w = o->pulse.watched[--o->pulse.count];
}

void owner_pulse_end(struct storm_owner *o)
{
	while (o->pulse.count)
		owner_watched_remove(o, &o->pulse.watched[0]);
	free(o->pulse.watched);
	storm_pulse_tx_close(&o->pulse.tx);
	o->pulse.watched = NULL;
	o->pulse.room = 0;
}

static void owner_pulse_tell(struct storm_owner *o,
			     const struct owner_watched *w,
			     enum storm_finding_kind what, uint64_t now)
{
	const struct storm_finding f = {
		.node = w->node,
		.what = what,
		.silence = now - storm_min(now, w->watch.heard),
	};

	if (o->ops.finding)
		o->ops.finding(o->arg, &f);
}

static void owner_pulse_ask(struct storm_owner *o, struct owner_watched *w)
{
	const struct storm_pulse ask = { .kind = STORM_PULSE_ASK };
	struct storm_addr to = owner_addr(o, w->node);
	uint8_t buf[STORM_PULSE_LEN];

	o->pulse.tx.epoch = o->link.epoch;
	if (storm_pulse_seal(&o->pulse.tx, &ask, 0, buf))
		return;
	if (!w->question)
		w->question = o->pulse.tx.sequence;
	o->t->ops->send(o->t, STORM_CONTROL, &to, buf, sizeof(buf),
			sizeof(buf));
}

/* ------------------------------------------------------------- who is watched */

static bool owner_watched_needed(const struct storm_owner *o,
				 const struct owner_watched *w, uint64_t now)
{
	const struct owner_watched *of;

	if (!storm_tree_member(&o->tree, w->node))
		return false;
	if (w->child || w->watch.suspect || w->says != STORM_FINDING_BACK)
		return true;
	if (w->missed_at && now < w->missed_at + owner_signs(o, NEWS_LAST))
		return true;
	of = w->of == STORM_NO_NODE ? NULL : owner_watched_find(o, w->of);
	return of && of->watch.suspect;
}

/* The tree has changed, or a suspect: watch the owner's children, and no node
 * that there is no cause for. */
static void owner_watched_update(struct storm_owner *o, uint64_t now)
{
	struct owner_pulse *p = &o->pulse;

	for (uint32_t i = 0; i < p->count; i++)
		p->watched[i].child = false;
	for (uint32_t i = 0; i < o->children; i++) {
		struct owner_watched *w =
			owner_watched_find(o, o->child[i].node);

		if (!w)
			w = owner_watched_add(o, o->child[i].node, now);
		if (w)
			w->child = true;
	}
	for (uint32_t i = 0; i < p->count;)
		if (owner_watched_needed(o, &p->watched[i], now)) {
			i++;
		} else {
			if (p->watched[i].path)
				owner_pulse_tell(o, &p->watched[i],
						 STORM_FINDING_BACK, now);
			owner_watched_remove(o, &p->watched[i]);
		}
}

/* It is a suspect: ask those below it, which nobody watches now. */
static void owner_watched_adopt(struct storm_owner *o, uint32_t node,
				uint64_t now)
{
	uint32_t kid[STORM_RADIX_MAX];
	uint32_t n = storm_tree_children(&o->tree, node, kid);

	for (uint32_t i = 0; i < n; i++) {
		struct owner_watched *w = owner_watched_find(o, kid[i]);

		if (!w)
			w = owner_watched_add(o, kid[i], now);
		if (!w)
			return;
		w->of = node;
		w->known = true; /* it is a member, so it answers */
	}
}

/* ----------------------------------------------------------------- what comes */

static void owner_watched_heard(struct storm_owner *o, struct owner_watched *w,
				uint8_t flags, uint64_t now)
{
	enum storm_finding_kind is =
		flags & STORM_PULSE_HUNG ? STORM_FINDING_HUNG :
		flags & STORM_PULSE_DEAF ? STORM_FINDING_DEAF :
					   STORM_FINDING_BACK;

	if (storm_watch_heard(&w->watch, o->conf.set.pulse, now)) {
		owner_pulse_tell(o, w, STORM_FINDING_BACK, now);
		w->missed_at = 0; /* it was: its parent hears it soon */
	}
	w->known = true;
	w->question = 0;
	if (is != w->says)
		owner_pulse_tell(o, w, is, now);
	w->says = is;
}

/* A node misses another one, or has heard what that one says of itself. */
static void owner_pulse_news(struct storm_owner *o, uint32_t from,
			     const struct storm_pulse *p, uint64_t now)
{
	struct owner_watched *w;

	if (!storm_tree_member(&o->tree, p->node) ||
	    storm_tree_parent(&o->tree, p->node) != from)
		return;
	w = owner_watched_find(o, p->node);
	if (!w) {
		w = owner_watched_add(o, p->node, now);
		if (!w)
			return;
		w->known = true;
		w->watch.heard -=
			storm_min(w->watch.heard, p->silence * STORM_MS);
	}
	if (!w->missed_at || now >= w->missed_at + owner_signs(o, NEWS_LAST))
		w->since = now;
	w->missed_at = now;
	if (!p->silence)
		owner_watched_heard(o, w, p->flags, now);
}

/* Datagrams of nodes that the owner does not watch are few: each costs a key. */
static int owner_pulse_open(struct storm_owner *o, struct owner_watched *w,
			    const struct storm_header *h, const uint8_t *buf,
			    size_t len, struct storm_pulse *out)
{
	struct storm_pulse_rx once = { 0 };
	struct storm_pulse_rx *r = w ? &w->rx : &once;
	const uint8_t *inc = storm_link_incarnation(&o->link, h->sender);
	int err = storm_pulse_rx_open(r, o->link.key, o->link.session,
				      h->sender, inc ? inc : h->incarnation);

	if (!err)
		err = storm_pulse_open(r, h, buf, len, out);
	storm_pulse_rx_close(&once);
	return err;
}

static bool owner_pulse_accept(struct storm_owner *o,
			       const struct storm_header *h, const uint8_t *buf,
			       size_t len, uint64_t now)
{
	struct owner_watched *w = owner_watched_find(o, h->sender);
	struct storm_pulse p;

	if (owner_pulse_open(o, w, h, buf, len, &p))
		return false;
	o->link_stats.rx_datagrams++;
	o->link_stats.rx_bytes += len;
	if (p.kind == STORM_PULSE_NEWS)
		owner_pulse_news(o, h->sender, &p, now);
	/* an answer that is older than the question may be a replay */
	else if (w && ((p.kind == STORM_PULSE_SIGN && w->child) ||
		       (p.kind == STORM_PULSE_ANSWER && w->question &&
			h->op >= w->question && h->op <= o->pulse.tx.sequence)))
		owner_watched_heard(o, w, p.flags, now);
	return true;
}

void owner_pulse_take(struct storm_owner *o, const struct storm_header *h,
		      const uint8_t *buf, size_t len, uint64_t now)
{
	if (o->phase != OWNER_OPEN || !o->pulse.tx.seal)
		return;
	if (!storm_tree_member(&o->tree, h->sender))
		o->link_stats.fenced++;
	else if (!owner_pulse_accept(o, h, buf, len, now))
		o->link_stats.bad_seal++;
}

bool storm_owner_pulse(struct storm_owner *o, const uint8_t *buf, size_t len,
		       uint64_t now)
{
	uint64_t refused = o->link_stats.bad_seal;
	struct storm_header h;

	if (storm_header_unpack(&h, buf, len) || h.type != STORM_MSG_PULSE ||
	    h.session != o->link.session || h.sender >= o->conf.count)
		return false;
	owner_pulse_take(o, &h, buf, len, now);
	return o->link_stats.bad_seal == refused;
}

/* ------------------------------------------------------------------- timers */

static uint64_t owner_watched_path(struct storm_owner *o,
				   struct owner_watched *w, uint64_t now)
{
	bool missed = w->missed_at &&
		      now < w->missed_at + owner_signs(o, NEWS_NOW);
	uint64_t at = w->since + owner_signs(o, PATH_AFTER);

	if (w->path || !missed || w->watch.suspect ||
	    w->says != STORM_FINDING_BACK)
		return STORM_NEVER;
	if (now < at)
		return at;
	if (w->watch.heard > w->since) {
		w->path = true;
		owner_pulse_tell(o, w, STORM_FINDING_PATH, now);
	}
	return STORM_NEVER;
}

/* Returns when to look again. */
static uint64_t owner_watched_look(struct storm_owner *o, uint32_t i,
				   uint64_t now)
{
	struct owner_watched *w = &o->pulse.watched[i];
	uint64_t next = STORM_NEVER;

	/* no question reaches it: its parent hears it, and says so */
	if (w->says == STORM_FINDING_DEAF &&
	    now < w->missed_at + owner_signs(o, NEWS_LAST))
		return w->missed_at + owner_signs(o, NEWS_LAST);
	if (!w->child && !w->watch.suspect) {
		if (now >= w->ask_at) {
			owner_pulse_ask(o, w);
			w->ask_at = now + o->conf.set.pulse;
		}
		next = w->ask_at;
	}
	if (!w->known)
		return next;
	next = storm_min(next, owner_watched_path(o, w, now));
	for (;;) {
		uint64_t at;

		switch (storm_watch_look(&w->watch, o->conf.set.pulse, now,
					 &at)) {
		case STORM_WATCH_WAIT:
			return storm_min(next, at);
		case STORM_WATCH_ASK:
			owner_pulse_ask(o, w);
			break;
		case STORM_WATCH_SUSPECT:
			owner_pulse_tell(o, w, STORM_FINDING_SILENT, now);
			owner_watched_adopt(o, w->node, now);
			w = &o->pulse.watched[i]; /* it may have moved */
		}
	}
}

static void owner_pulse_forgive(struct storm_owner *o, uint64_t now)
{
	struct owner_pulse *p = &o->pulse;
	uint64_t due = p->ticked + o->conf.set.pulse;

	for (uint32_t i = 0; p->ticked && now > due && i < p->count; i++)
		storm_watch_forgive(&p->watched[i].watch, now - due, now);
	p->ticked = now;
}

uint64_t owner_pulse_tick(struct storm_owner *o, uint64_t now)
{
	struct owner_pulse *p = &o->pulse;
	uint64_t next = now + o->conf.set.pulse;

	if (!o->conf.set.pulse || !owner_is_cluster(o))
		return STORM_NEVER;
	if (!p->tx.seal &&
	    storm_pulse_tx_open(&p->tx, o->link.key, o->link.session,
				STORM_NO_NODE, o->link.incarnation))
		return next;
	owner_pulse_forgive(o, now);
	owner_watched_update(o, now);
	for (uint32_t i = 0; i < p->count; i++)
		next = storm_min(next, owner_watched_look(o, i, now));
	return next;
}

void storm_owner_pulse_elsewhere(struct storm_owner *o)
{
	o->pulse.elsewhere = true;
}

uint64_t storm_owner_pulse_tick(struct storm_owner *o, uint64_t now)
{
	return o->phase == OWNER_OPEN ? owner_pulse_tick(o, now) :
					now + o->conf.set.pulse;
}
