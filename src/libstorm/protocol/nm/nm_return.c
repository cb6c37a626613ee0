/*
 * nm_return.c - a node that has died and is there again, before the owner of
 * the cluster domain has missed it.
 *
 * It has forgotten everything, and the owner invites a silent node only after
 * dead_timeout.  So a node leaves a note of the domain where only its next life
 * finds it.  That life asks the owner for an OPEN, under the domain's key but in
 * an epoch that never was.  The request alone changes nothing: the owner sends
 * OPEN, and a node that has the session already ignores it.  From there on the
 * node joins as usual: it is outside, reports that, is excluded, and joins.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <openssl/crypto.h>
#include <stdlib.h>

#include "nm_private.h"

#define NOTE_VERSION 1
#define ASK_EVERY (100 * STORM_MS)
#define TRIES 20

struct nm_return {
	struct storm_link link;
	struct storm_addr owner;
	uint64_t cluster, at;
	int tries;
};

size_t storm_nm_note(struct storm_nm *nm, uint64_t session,
		     uint8_t buf[static STORM_NOTE_MAX])
{
	const struct nm_session *s = nm_find_host(nm, session);
	struct storm_out o = { buf, buf + STORM_NOTE_MAX, false };

	if (!s || !s->open->cluster)
		return 0;
	storm_put32(&o, NOTE_VERSION);
	storm_put64(&o, s->open->cluster);
	storm_put64(&o, s->link.session);
	storm_put32(&o, s->self);
	storm_put_addr(&o, &s->open->owner);
	storm_put(&o, s->open->key, STORM_KEY_LEN);
	return o.bad ? 0 : (size_t) (o.p - buf);
}

static int nm_return_read_note(struct storm_nm *nm, const void *buf, size_t len,
			       struct nm_return *r)
{
	struct storm_in i = { buf, (const uint8_t *) buf + len, false };
	uint8_t inc[STORM_INCARNATION_LEN];
	uint32_t version = storm_get32(&i), self;
	uint64_t session;
	const uint8_t *key;
	int err;

	r->cluster = storm_get64(&i);
	session = storm_get64(&i);
	self = storm_get32(&i);
	storm_get_addr(&i, &r->owner);
	key = storm_get(&i, STORM_KEY_LEN);
	if (!storm_in_done(&i) || version != NOTE_VERSION || !r->cluster)
		return STORM_EINVAL;
	err = storm_random(inc, sizeof(inc));
	if (!err)
		err = storm_link_init(&r->link, nm->t, &nm->link_stats, key,
				      session, self, inc);
	if (!err)
		r->link.epoch = 0;
	return err;
}

int storm_nm_return(struct storm_nm *nm, const void *note, size_t len,
		    uint64_t now)
{
	struct nm_return *r;
	int err;

	nm_return_end(nm);
	r = calloc(1, sizeof(*r));
	if (!r)
		return STORM_ENOMEM;
	err = nm_return_read_note(nm, note, len, r);
	if (err) {
		free(r);
		return err;
	}
	r->at = now;
	r->tries = TRIES;
	nm->back = r;
	return STORM_OK;
}

void nm_return_end(struct storm_nm *nm)
{
	if (nm->back)
		storm_link_free(&nm->back->link);
	free(nm->back);
	nm->back = NULL;
}

static void nm_return_ask(struct storm_nm *nm, struct nm_return *r)
{
	static const struct storm_idset all;
	const struct storm_asked a = { .p = &all, .cmp_p = &all };
	uint8_t body[STORM_DATAGRAM_MAX];
	struct storm_status st;
	size_t mtu = nm->t->ops->mtu(nm->t), n;

	storm_status_init(&st, &a, (uint32_t) mtu);
	st.flags = STORM_STATUS_JOIN;
	n = storm_status_pack(
		&st, body,
		storm_body_max(mtu < sizeof(body) ? mtu : sizeof(body)));
	storm_link_send(&r->link, STORM_MSG_STATUS, 0, 0, body, n, &r->owner,
			1);
}

uint64_t nm_return_tick(struct storm_nm *nm, uint64_t now)
{
	struct nm_return *r = nm->back;

	if (!r)
		return STORM_NEVER;
	if (nm_cluster_find(nm, r->cluster) || !r->tries) {
		nm_return_end(nm);
		return STORM_NEVER;
	}
	if (now >= r->at) {
		nm_return_ask(nm, r);
		r->tries--;
		r->at = now + ASK_EVERY;
	}
	return r->at;
}
