/*
 * verbs_send.c - sends a datagram by verbs or by UDP.
 *
 * Verbs carry it if the port works and the peer answers there; otherwise UDP
 * does, if the settings allow it.  Only the counters and one line in the log
 * show which.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs_private.h"

static int verbs_send_udp(struct storm_verbs *v, enum storm_class c,
			  const struct storm_addr *to, const void *buf,
			  size_t len, size_t seg)
{
	int rc;

	if (v->data)
		return -EHOSTUNREACH; /* the data rail takes it */
	if (!v->set.transport_fallback) {
		v->stats.send_errors++;
		return -EHOSTUNREACH;
	}
	rc = v->by_udp->ops->send(v->by_udp, c, to, buf, len, seg);
	if (!rc)
		v->stats.udp_tx_datagrams += (len + seg - 1) / seg;
	return rc;
}

/* Find the destination.  0; -EAGAIN: its look-up is running; -EHOSTUNREACH:
 * verbs do not reach it. */
static int verbs_find_dest(struct storm_verbs *v, enum storm_class c,
			   const struct storm_addr *to, size_t seg,
			   struct verbs_dest *d, struct verbs_peer **peer)
{
	struct verbs_peer *p;

	*peer = NULL;
	if (!storm_verbs_working(v) || seg > v->port.mtu)
		return -EHOSTUNREACH;
	if (storm_verbs_is_group(to))
		return storm_verbs_group_dest(v, to, c, d) ? 0 : -EHOSTUNREACH;
	*peer = p = storm_verbs_peer(v, to);
	if (p && p->state == VERBS_ASKING)
		return -EAGAIN;
	if (!p || p->state != VERBS_KNOWN || seg > p->hello.mtu)
		return -EHOSTUNREACH;
	*d = (struct verbs_dest) { .ah = p->ah[c],
				   .qpn = p->hello.qpn[c],
				   .qkey = p->hello.qkey };
	return 0;
}

/* Post it, keep it until the peer's look-up ends, or send it by UDP.  -EAGAIN:
 * there is no room. */
static int verbs_send_now(struct storm_verbs *v, enum storm_class c,
			  const struct storm_addr *to, const void *buf,
			  size_t len, size_t seg)
{
	struct verbs_peer *peer;
	struct verbs_dest d;
	int rc = verbs_find_dest(v, c, to, seg, &d, &peer);

	if (rc == -EHOSTUNREACH)
		return verbs_send_udp(v, c, to, buf, len, seg);
	if (rc == -EAGAIN) {
		/* the owner keeps it, and the answer wakes it */
		if (c == STORM_BULK && v->role == STORM_ROLE_OWNER)
			return rc;
		return storm_verbs_peer_keep(v, peer, c, buf, len, seg);
	}
	rc = storm_verbs_post(v, c, &d, buf, len, seg);
	if (!rc && storm_verbs_is_group(to))
		v->stats.tx_group += (len + seg - 1) / seg;
	return rc;
}

/* Have an event wake the poll loop, or wake it now if there is room. */
static void verbs_await_room(struct storm_verbs *v, const struct verbs_send *s)
{
	if (!v->up)
		return;
	storm_verbs_await_room(v);
	if (!s->used)
		storm_verbs_again(v);
}

static int verbs_rest_keep(struct storm_verbs *v, enum storm_class c,
			   const struct storm_addr *to, const void *buf,
			   size_t len, size_t seg)
{
	struct verbs_send *s = &v->send[c];
	struct verbs_rest *r;

	if (s->kept + len > s->room)
		return -EAGAIN;
	r = malloc(sizeof(*r) + len);
	if (!r)
		return -ENOMEM;
	*r = (struct verbs_rest) {
		.to = *to, .class = c, .seg = seg, .len = len
	};
	memcpy(r->bytes, buf, len);
	TAILQ_INSERT_TAIL(&s->rests, r, link);
	s->kept += len;
	v->stats.queue[c].kept++;
	return 0;
}

int storm_verbs_send_by(struct storm_verbs *v, enum storm_class c,
			const struct storm_addr *to, const void *buf,
			size_t len, size_t seg)
{
	struct verbs_send *s = &v->send[c];
	int rc = -EAGAIN;

	/* kept ones first */
	if (TAILQ_EMPTY(&s->rests))
		rc = verbs_send_now(v, c, to, buf, len, seg);
	if (rc != -EAGAIN)
		return rc;
	rc = verbs_rest_keep(v, c, to, buf, len, seg);
	verbs_await_room(v, s);
	return rc;
}

static void verbs_rest_free(struct verbs_send *s, struct verbs_rest *r)
{
	TAILQ_REMOVE(&s->rests, r, link);
	s->kept -= r->len;
	free(r);
}

static void verbs_send_flush(struct storm_verbs *v, struct verbs_send *s)
{
	struct verbs_rest *r;

	while ((r = TAILQ_FIRST(&s->rests))) {
		if (verbs_send_now(v, r->class, &r->to, r->bytes, r->len,
				   r->seg) == -EAGAIN) {
			verbs_await_room(v, s);
			return;
		}
		verbs_rest_free(s, r);
	}
}

void storm_verbs_flush(struct storm_verbs *v)
{
	for (int c = 0; c < 2; c++)
		verbs_send_flush(v, &v->send[c]);
}

void storm_verbs_send_ready(struct storm_verbs *v)
{
	struct verbs_rest *r;

	while ((r = TAILQ_FIRST(&v->ready))) {
		TAILQ_REMOVE(&v->ready, r, link);
		if (storm_verbs_send_by(v, r->class, &r->to, r->bytes, r->len,
					r->seg))
			v->stats.send_errors++;
		free(r);
	}
}

void storm_verbs_drop_waiting(struct storm_verbs *v)
{
	struct verbs_rest *r;

	while ((r = TAILQ_FIRST(&v->ready))) {
		TAILQ_REMOVE(&v->ready, r, link);
		free(r);
	}
	for (int c = 0; c < 2; c++)
		while ((r = TAILQ_FIRST(&v->send[c].rests)))
			verbs_rest_free(&v->send[c], r);
}
