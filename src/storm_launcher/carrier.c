/*
 * carrier.c - see carrier.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "carrier.h"
#include "grow.h"
#include "src/libstorm/base/minmax.h"

#define FRAME 5 /* bytes before a body */
#define PIECE 16000
#define ROOM (2 * (SEALED_MAX + SEALED_EXTRA))

enum carrier_kind {
	CARRIER_HELLO = 1, /* channel 0, the first record of an end */
	CARRIER_DATA = 2,  /* 1 to PIECE bytes */
	CARRIER_MORE = 3,  /* u32: so many were used */
	CARRIER_CLOSE = 4  /* all DATA came before */
};

struct channel {
	struct channel *next;
	uint32_t number;
	uint32_t may_send, may_come; /* bytes */
	uint32_t used;		     /* that the other end was not told of */
	uint8_t *in;		     /* [at, have) has come */
	size_t at, have;
	bool news, ended, closed; /* by the other end, by this one */
	bool known;		  /* to the other end */
};

struct carrier {
	struct sealed *sealed;
	bool opens, proven;
	const char *fault;
	uint32_t last,
		count; /* the highest number; how many beside channel 0 */
	struct channel *channels;
	uint8_t *in; /* of ROOM */
	size_t come;
	uint8_t *out; /* [at, have) */
	size_t at, have, room;
};

static void carrier_fail(struct carrier *c, const char *why)
{
	if (!c->fault)
		c->fault = why;
}

/* ------------------------------------------------------------------- channels --- */

static struct channel *carrier_find(const struct carrier *c, uint32_t number)
{
	struct channel *ch = c->channels;

	while (ch && ch->number != number)
		ch = ch->next;
	return ch;
}

static struct channel *carrier_add(struct carrier *c, uint32_t number)
{
	struct channel *ch = calloc(1, sizeof(*ch));

	if (!ch) {
		carrier_fail(c, "no memory");
		return NULL;
	}
	ch->number = number;
	ch->may_send = ch->may_come = CARRIER_WINDOW;
	ch->known = !c->opens || !number;
	ch->next = c->channels;
	c->channels = ch;
	c->last = number;
	c->count += number > 0;
	return ch;
}

static void carrier_drop(struct carrier *c, struct channel *ch)
{
	struct channel **at = &c->channels;

	while (*at != ch)
		at = &(*at)->next;
	*at = ch->next;
	c->count -= ch->number > 0;
	free(ch->in);
	free(ch);
}

/* -------------------------------------------------------------------- records --- */

static void carrier_record(struct carrier *c, uint32_t channel,
			   enum carrier_kind kind, const void *body, size_t len)
{
	uint8_t text[FRAME + PIECE];
	struct storm_out o = { text, text + sizeof(text), false };

	if (c->fault)
		return;
	storm_put32(&o, channel);
	storm_put8(&o, (uint8_t) kind);
	storm_put(&o, body, len);
	if (!grow_buffer(&c->out, &c->room,
			 c->have + FRAME + len + SEALED_EXTRA))
		carrier_fail(c, "no memory");
	else if (!sealed_put(c->sealed, text, FRAME + len, c->out + c->have))
		carrier_fail(c, "a record cannot be sealed");
	else
		c->have += FRAME + len + SEALED_EXTRA;
}

struct carrier *carrier_create(struct sealed *s, bool opens)
{
	struct carrier *c = calloc(1, sizeof(*c));

	if (c)
		c->in = malloc(ROOM);
	if (!c || !c->in) {
		free(c);
		sealed_destroy(s);
		return NULL;
	}
	c->sealed = s;
	c->opens = opens;
	carrier_add(c, 0);
	carrier_record(c, 0, CARRIER_HELLO, NULL, 0);
	if (!c->fault)
		return c;
	carrier_destroy(c);
	return NULL;
}

void carrier_destroy(struct carrier *c)
{
	if (!c)
		return;
	while (c->channels)
		carrier_drop(c, c->channels);
	sealed_destroy(c->sealed);
	free(c->in);
	free(c->out);
	free(c);
}

const char *carrier_fault(const struct carrier *c)
{
	return c->fault;
}

bool carrier_is_proven(const struct carrier *c)
{
	return c->proven;
}

/* ------------------------------------------------------------- what has come --- */

/* The channel of a record with DATA, which may open it. */
static struct channel *carrier_of_data(struct carrier *c, uint32_t number)
{
	struct channel *ch = carrier_find(c, number);

	if (ch || c->opens || number <= c->last || c->count == CARRIER_CHANNELS)
		return ch;
	return carrier_add(c, number);
}

static void carrier_take_data(struct carrier *c, struct channel *ch,
			      const uint8_t *body, size_t len)
{
	if (!len || len > ch->may_come) {
		carrier_fail(c, "data beyond the window");
		return;
	}
	ch->may_come -= (uint32_t) len;
	if (ch->closed)
		return;
	if (!ch->in)
		ch->in = malloc(CARRIER_WINDOW);
	if (!ch->in) {
		carrier_fail(c, "no memory");
		return;
	}
	if (ch->at) {
		memmove(ch->in, ch->in + ch->at, ch->have - ch->at);
		ch->have -= ch->at;
		ch->at = 0;
	}
	memcpy(ch->in + ch->have, body, len);
	ch->have += len;
	ch->news = true;
}

static void carrier_take_more(struct carrier *c, struct channel *ch,
			      struct storm_in *body)
{
	uint32_t n = storm_get32(body);

	if (!storm_in_done(body) || !n || n > CARRIER_WINDOW - ch->may_send) {
		carrier_fail(c, "a window that cannot be");
		return;
	}
	ch->may_send += n;
}

static void carrier_take_close(struct carrier *c, struct channel *ch)
{
	ch->ended = ch->news = true;
	if (ch->closed)
		carrier_drop(c, ch);
}

static void carrier_take(struct carrier *c, const uint8_t *text, size_t len)
{
	struct storm_in in = { text, text + len, false };
	uint32_t number = storm_get32(&in);
	uint8_t kind = storm_get8(&in);
	struct channel *ch;

	if (!c->proven) {
		c->proven = kind == CARRIER_HELLO && !number &&
			    storm_in_done(&in);
		if (!c->proven)
			carrier_fail(c, "the first record is another one");
		return;
	}
	ch = kind == CARRIER_DATA ? carrier_of_data(c, number) :
				    carrier_find(c, number);
	if (!ch || ch->ended)
		carrier_fail(c, "a channel that is not open");
	else if (kind == CARRIER_DATA)
		carrier_take_data(c, ch, in.p, (size_t) (in.end - in.p));
	else if (kind == CARRIER_MORE)
		carrier_take_more(c, ch, &in);
	else if (kind == CARRIER_CLOSE && storm_in_done(&in) && number)
		carrier_take_close(c, ch);
	else
		carrier_fail(c, "a record of no kind");
}

uint8_t *carrier_room(struct carrier *c, size_t *room)
{
	*room = ROOM - c->come;
	return c->in + c->come;
}

void carrier_came(struct carrier *c, size_t n)
{
	const uint8_t *text;
	size_t at = 0, len;
	ssize_t took = 0;

	c->come += n;
	while (!c->fault &&
	       (took = sealed_get(c->sealed, c->in + at, c->come - at, &text,
				  &len)) > 0) {
		carrier_take(c, text, len);
		at += (size_t) took;
	}
	if (took < 0)
		carrier_fail(c, c->proven ? "a record was changed" :
					    "the other end has another key");
	c->come -= at;
	memmove(c->in, c->in + at, c->come);
}

const uint8_t *carrier_out(const struct carrier *c, size_t *len)
{
	*len = c->have - c->at;
	return *len ? c->out + c->at : NULL;
}

void carrier_sent(struct carrier *c, size_t n)
{
	c->at += n;
	if (c->at < c->have)
		return;
	c->at = c->have = 0;
	free(c->out); /* it can have been large */
	c->out = NULL;
	c->room = 0;
}

/* ---------------------------------------------------------------- for its user --- */

bool carrier_next(struct carrier *c, uint32_t *channel)
{
	struct channel *ch = c->channels;

	while (ch && (!ch->news || ch->closed))
		ch = ch->next;
	if (!ch)
		return false;
	ch->news = false;
	*channel = ch->number;
	return true;
}

uint32_t carrier_open(struct carrier *c)
{
	struct channel *ch;

	if (!c->proven || c->fault || c->count == CARRIER_CHANNELS ||
	    c->last == UINT32_MAX)
		return 0;
	ch = carrier_add(c, c->last + 1);
	return ch ? ch->number : 0;
}

bool carrier_may_put(const struct carrier *c, uint32_t channel)
{
	const struct channel *ch = carrier_find(c, channel);

	return c->proven && !c->fault && ch && !ch->ended && !ch->closed &&
	       ch->may_send;
}

size_t carrier_put(struct carrier *c, uint32_t channel, const void *buf,
		   size_t len)
{
	struct channel *ch = carrier_find(c, channel);
	size_t done = 0;

	while (done < len && carrier_may_put(c, channel)) {
		size_t n =
			storm_min(storm_min(len - done, PIECE), ch->may_send);

		carrier_record(c, channel, CARRIER_DATA,
			       (const uint8_t *) buf + done, n);
		ch->may_send -= (uint32_t) n;
		ch->known = true;
		done += n;
	}
	return done;
}

const uint8_t *carrier_data(const struct carrier *c, uint32_t channel,
			    size_t *len)
{
	const struct channel *ch = carrier_find(c, channel);

	*len = ch && !ch->closed ? ch->have - ch->at : 0;
	return *len ? ch->in + ch->at : NULL;
}

void carrier_used(struct carrier *c, uint32_t channel, size_t n)
{
	struct channel *ch = carrier_find(c, channel);
	uint8_t more[4];
	struct storm_out o = { more, more + sizeof(more), false };

	if (!ch || ch->closed)
		return;
	ch->at += n;
	ch->used += (uint32_t) n;
	if (ch->at == ch->have) {
		ch->at = ch->have = 0;
		free(ch->in);
		ch->in = NULL;
	}
	if (ch->used < CARRIER_WINDOW / 2 || ch->ended)
		return;
	ch->may_come += ch->used;
	storm_put32(&o, ch->used);
	carrier_record(c, channel, CARRIER_MORE, more, sizeof(more));
	ch->used = 0;
}

bool carrier_ended(const struct carrier *c, uint32_t channel)
{
	const struct channel *ch = carrier_find(c, channel);

	return !ch || (ch->ended && ch->at == ch->have);
}

void carrier_close(struct carrier *c, uint32_t channel)
{
	struct channel *ch = channel ? carrier_find(c, channel) : NULL;

	if (!ch || ch->closed)
		return;
	if (ch->known)
		carrier_record(c, channel, CARRIER_CLOSE, NULL, 0);
	ch->closed = true;
	if (ch->ended || !ch->known) {
		carrier_drop(c, ch);
		return;
	}
	free(ch->in);
	ch->in = NULL;
	ch->at = ch->have = 0;
}
