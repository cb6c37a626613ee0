/*
 * owner_data.c - DATA of the operation under way: the master's side of the file
 * transfer (Algorithm 6).  The paper overlaps the reading of one chunk with the
 * sending of the one before and waits for space in every slave's queue
 * (AWAIT-SPACE, Algorithm 1).  Here the queue is a window: what was sent less
 * what every node has written.  The combining tree keeps that lower bound up to
 * date, so a slow answer never stops the pipe, and memory stays bounded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>

#include "owner_private.h"
#include "src/libstorm/base/minmax.h"

#define BATCHES_PER_TICK 16
#define BATCHES_LOSSY 4 /* what nodes lack is heard of between them */
#define RATE_EVERY (20 * STORM_MS)
#define RATE_FLOOR 8e6 /* bytes/s */
#define RATE_KEEP 0.8
#define RATE_SEEN 64   /* chunks: of fewer, chance may take a share */
#define RATE_LOOK 90e3 /* bytes: the floor sends more */
#define LOSS_MUCH 0.15

const uint8_t *owner_data_bytes(struct owner_xfer *x, uint64_t off, size_t len)
{
	const uint8_t *at;
	int sys = 0;

	if (x->from.buf)
		return x->from.buf + off;
	at = x->from.at(x->from.arg, off, len, &sys);
	if (!at && !x->unreadable) {
		x->unreadable = true;
		storm_faults_add(&x->faults, STORM_NO_NODE, STORM_ESOURCE, sys);
	}
	return at;
}

/* Bytes of a run of chunks. */
struct owner_run {
	const uint8_t *bytes;
	uint64_t off;
};

static int owner_data_get(void *arg, uint64_t off, void *buf, size_t len)
{
	const struct owner_run *run = arg;

	memcpy(buf, run->bytes + (off - run->off), len);
	return 0;
}

/* Slow down where receivers lose much; random loss of a few per cent is
 * repaired, not a sign of a rate too high.  Losses are heard of late and in
 * lumps, so one look at them says little. */
static void owner_data_pace(struct storm_owner *o, uint64_t now)
{
	struct owner_data *d = &o->data;
	struct owner_xfer *x = o->operations.first;
	uint64_t sent = x->sent - d->rate_sent;
	uint64_t lost =
		o->sum.lost > d->rate_lost ? o->sum.lost - d->rate_lost : 0;
	double seconds = (double) (now - d->rate_at) / 1e9;
	double cap = (double) o->conf.set.rate;

	if (now < d->rate_at + RATE_EVERY)
		return;
	d->sent = d->sent * RATE_KEEP + (double) sent;
	d->lost = d->lost * RATE_KEEP + (double) lost;
	/* a look in which little was sent says nothing of the rate */
	if ((double) (sent * d->chunk) >= RATE_LOOK && d->sent >= RATE_SEEN &&
	    d->lost > d->sent * LOSS_MUCH) {
		double least = storm_max(RATE_FLOOR, d->rate * 0.5);

		d->rate = (double) (sent * d->chunk) / seconds * 0.6;
		d->rate = storm_max(d->rate, least);
		d->sent = d->lost = 0; /* what follows is about this rate */
	} else if (d->rate > 0 && d->lost <= d->sent * LOSS_MUCH / 2) {
		d->rate *= 1.15;
	}
	if (cap > 0 && (d->rate <= 0 || d->rate > cap))
		d->rate = cap;
	d->rate_at = now;
	d->rate_sent = x->sent;
	d->rate_lost = o->sum.lost;
}

/* May so many bytes go now? */
static bool owner_data_pay(struct storm_owner *o, uint64_t bytes, uint64_t now)
{
	struct owner_data *d = &o->data;

	if (d->rate <= 0)
		return true;
	d->tokens += d->rate * (double) (now - d->tokens_at) / 1e9;
	d->tokens_at = now;
	if (d->tokens > OWNER_BURST)
		d->tokens = OWNER_BURST;
	if (d->tokens < (double) bytes)
		return false;
	d->tokens -= (double) bytes;
	return true;
}

/* By multicast, or to the head of the chain. */
static struct storm_addr owner_data_addr(const struct storm_owner *o)
{
	const struct storm_idset *p = &o->cast.p;

	return o->send.multicast ?
		       o->open->group :
		       owner_addr(o, storm_tree_successor(&o->tree,
							  STORM_NO_NODE, p));
}

void owner_data_begin(struct storm_owner *o, uint64_t now)
{
	struct owner_data *d = &o->data;

	d->rate_sent = d->rate_lost = 0;
	d->sent = d->lost = 0;
	d->tokens_at = d->rate_at = now;
	d->tokens = OWNER_BURST;
}

void owner_data_recover(struct storm_owner *o)
{
	/* the rate rises by itself, once little is lost */
	o->data.sent = o->data.lost = 0;
	o->data.rate_lost = o->sum.lost;
}

uint64_t owner_data_send(struct storm_owner *o, uint64_t now)
{
	struct owner_xfer *x = o->operations.first;
	uint16_t flags = o->send.multicast ? 0 : STORM_HDR_RELAY;
	struct storm_addr to = owner_data_addr(o);
	int most = o->send.lossy ? BATCHES_LOSSY : BATCHES_PER_TICK;

	owner_data_pace(o, now);
	for (int i = 0; i < most && x->sent < x->chunks; i++) {
		uint64_t last = x->sent + o->data.batch - 1, n, end;
		struct owner_run run = { .off = o->cast.sent };
		int rc;

		if (last >= x->chunks)
			last = x->chunks - 1;
		n = last - x->sent + 1;
		/* AWAIT-SPACE, against the lower bound that is at hand */
		if (x->sent * o->data.chunk + n * o->data.chunk >
		    x->progress + o->open->window) {
			owner_window_full(o, true, now);
			return STORM_NEVER;
		}
		owner_window_full(o, false, now);
		if (!owner_data_pay(o, n * o->data.chunk, now))
			return now + STORM_MS;
		end = storm_min((last + 1) * o->data.chunk, x->begin.size);
		run.bytes =
			owner_data_bytes(x, run.off, (size_t) (end - run.off));
		if (!run.bytes)
			return STORM_NEVER;
		rc = storm_link_send_run(&o->link, flags, x->begin.op,
					 x->begin.size, o->data.chunk, x->sent,
					 last, owner_data_get, &run, &to);
		if (rc == -EAGAIN)
			return now + STORM_MS;
		if (!o->tl.first_byte)
			o->tl.first_byte = now;
		o->stats.tx_data += n;
		x->sent = last + 1;
		x->moved_at = now;
		o->cast.sent = end;
		/* they have just been read: they are in the cache */
		storm_digest_add(x->digest, run.bytes,
				 (size_t) (end - run.off));
	}
	return now;
}
