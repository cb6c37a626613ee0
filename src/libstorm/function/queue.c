/*
 * queue.c - the remote queue of the paper (section 2.4.2, Algorithms 1 to 3),
 * on the primitives alone: slots in a segment, an event for each filled slot,
 * and an own variable that counts the slots that the node has emptied.
 *
 * Departures.  Algorithm 1 loops while its comparison is TRUE; its prose, which
 * is right, waits while it is FALSE.  `dequeued` never decreases, so the result
 * of a comparison is kept as a lower bound.  The owner asks again only when
 * this bound does not suffice.  An ENQUEUE waits for the previous one: if that
 * aborted, it filled no slot, and the next ENQUEUE uses its place.  Each slot
 * begins with the length of its data.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/program/domain_private.h"
#include "src/libstorm/program/node_private.h"
#include "src/libstorm/wire/wire.h"

#define HEAD 8 /* bytes of the length before a slot's data */
#define BACKOFF_FIRST (200 * STORM_US)
#define BACKOFF_MAX (50 * STORM_MS)

struct storm_queue {
	storm_domain_t *d;
	struct storm_idset P;
	bool all; /* P was NULL */
	struct storm_queue_conf conf;
	uint64_t enqueued;   /* as in the paper; modulo slots: the tail */
	uint64_t dequeued;   /* all of P have emptied at least this many */
	storm_event_t *last; /* of the last ENQUEUE; NULL: that has ended */
	uint8_t slot[];	     /* the slot to send */
};

static size_t queue_slot_bytes(const struct storm_queue_conf *c)
{
	return HEAD + ((size_t) c->slot_size + 7) / 8 * 8;
}

static bool queue_bad_conf(const struct storm_queue_conf *c)
{
	return !c->slots || !c->event || c->event >= STORM_EVENTS ||
	       c->segment >= STORM_SEGMENTS || c->dequeued < STORM_VAR_USER ||
	       c->dequeued >= STORM_VARS;
}

size_t storm_queue_bytes(const struct storm_queue_conf *conf)
{
	return conf->slots * queue_slot_bytes(conf);
}

storm_queue_t *storm_queue_create(storm_domain_t *d,
				  const struct storm_idset *P,
				  const struct storm_queue_conf *conf)
{
	struct storm_queue *q;

	if (queue_bad_conf(conf))
		return NULL;
	q = calloc(1, sizeof(*q) + queue_slot_bytes(conf));
	if (!q)
		return NULL;
	q->d = d;
	q->conf = *conf;
	q->all = !P;
	if (P && storm_idset_union(&q->P, P)) {
		free(q);
		return NULL;
	}
	return q;
}

void storm_queue_destroy(storm_queue_t *q)
{
	if (!q)
		return;
	storm_event_destroy(q->last);
	storm_idset_clear(&q->P);
	free(q);
}

static const struct storm_idset *queue_nodes_of(const struct storm_queue *q)
{
	return q->all ? NULL : &q->P;
}

/* Wait until the previous ENQUEUE has ended: only then the tail is known. */
static int queue_settle(struct storm_queue *q, uint64_t deadline)
{
	struct storm_outcome out = { 0 };
	enum storm_state state;

	if (!q->last)
		return STORM_OK;
	if (!storm_test_event(q->last, true, deadline, &out))
		return STORM_ETIME;
	state = out.state;
	storm_outcome_clear(&out);
	storm_event_destroy(q->last);
	q->last = NULL;
	if (state == STORM_DONE)
		q->enqueued++;
	return state == STORM_UNKNOWN ? STORM_ECLOSED : STORM_OK;
}

/* Have all of P emptied count slots?  STORM_OK; STORM_EBUSY: not yet; otherwise
 * the error of a node that did not answer. */
static int queue_taken(struct storm_queue *q, uint64_t count)
{
	struct storm_outcome out = { 0 };
	enum storm_compare c;
	int err = STORM_ECLOSED;

	c = storm_compare_and_write(q->d, queue_nodes_of(q), q->conf.dequeued,
				    STORM_GE, count, NULL, &out);
	if (c == STORM_TRUE) {
		q->dequeued = count;
		err = STORM_OK;
	} else if (c == STORM_FALSE) {
		err = STORM_EBUSY;
	} else if (out.faults_kept) {
		err = (int) out.faults[0].why;
	}
	storm_outcome_clear(&out);
	return err;
}

/* AWAIT-SPACE.  First ask for half a queue of space, which serves the next
 * ENQUEUEs, too. */
static int queue_await_space(struct storm_queue *q, uint64_t deadline)
{
	uint64_t need = q->enqueued + 1 - q->conf.slots, backoff, now;

	if (q->enqueued < q->conf.slots || q->dequeued >= need)
		return STORM_OK;
	for (backoff = BACKOFF_FIRST;; backoff *= 2) {
		int err = queue_taken(q, need + q->conf.slots / 2);

		if (err == STORM_EBUSY && q->conf.slots > 1)
			err = queue_taken(q, need);
		if (err != STORM_EBUSY)
			return err;
		now = domain_now(q->d);
		if (deadline && now >= deadline)
			return STORM_ETIME;
		if (backoff > BACKOFF_MAX)
			backoff = BACKOFF_MAX;
		domain_sleep(q->d, deadline && deadline - now < backoff ?
					   deadline - now :
					   backoff);
	}
}

int storm_enqueue(storm_queue_t *q, const void *data, size_t len,
		  uint64_t deadline, storm_event_t **event)
{
	struct storm_target to = {
		.kind = STORM_TARGET_SEGMENT,
		.segment = q->conf.segment,
		.remote_event = q->conf.event,
	};
	struct storm_out o = { q->slot, q->slot + HEAD, false };
	int err;

	if (len > q->conf.slot_size)
		return STORM_ETOOBIG;
	err = queue_settle(q, deadline);
	if (!err)
		err = queue_await_space(q, deadline);
	if (err)
		return err;
	storm_put64(&o, len);
	if (len)
		memcpy(q->slot + HEAD, data, len);
	to.offset = q->conf.offset +
		    q->enqueued % q->conf.slots * queue_slot_bytes(&q->conf);
	q->last = storm_xfer_and_signal(q->d, queue_nodes_of(q), &to, q->slot,
					HEAD + len);
	if (!q->last)
		return STORM_ECLOSED;
	if (event)
		*event = q->last;
	return STORM_OK;
}

/* Departure: Algorithm 3 raises `dequeued` before its caller has read the slot,
 * which the owner may then overwrite.  Here the data are copied first. */
int storm_dequeue(storm_member_t *m, const struct storm_queue_conf *conf,
		  const void *base, bool block, uint64_t deadline, void *buf,
		  size_t *len)
{
	const uint8_t *slot;
	struct storm_in in;
	uint64_t before, n;
	int err;

	if (queue_bad_conf(conf))
		return STORM_EINVAL;
	err = node_member_take(m, conf->event, block, deadline, &before);
	if (err)
		return err;
	slot = (const uint8_t *) base + conf->offset +
	       before % conf->slots * queue_slot_bytes(conf);
	in = (struct storm_in) { slot, slot + HEAD, false };
	n = storm_get64(&in);
	if (n <= conf->slot_size) {
		memcpy(buf, slot + HEAD, (size_t) n);
		*len = (size_t) n;
	} else {
		err = STORM_EVERIFY; /* another writer has overwritten it */
	}
	storm_member_own_set(m, conf->dequeued, before + 1);
	return err;
}
