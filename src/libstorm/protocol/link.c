/*
 * link.c - see link.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>

#include "link.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/base/sorted.h"

int storm_link_init(struct storm_link *l, struct storm_transport *t,
		    struct storm_link_stats *stats,
		    const uint8_t key[STORM_KEY_LEN], uint64_t session,
		    uint32_t self, const uint8_t inc[STORM_INCARNATION_LEN])
{
	memset(l, 0, sizeof(*l));
	l->t = t;
	l->stats = stats;
	memcpy(l->key, key, sizeof(l->key));
	l->session = session;
	l->self = self;
	l->epoch = 1;
	if (storm_link_reborn(l, inc)) {
		storm_link_free(l);
		return STORM_ENOMEM;
	}
	return STORM_OK;
}

int storm_link_reborn(struct storm_link *l,
		      const uint8_t inc[STORM_INCARNATION_LEN])
{
	struct storm_seal *tx[STORM_LANES] = { NULL };

	for (int i = 0; i < STORM_LANES; i++) {
		tx[i] = storm_seal_create(l->key, inc, l->session, l->self,
					  (enum storm_lane) i);
		if (!tx[i]) {
			while (i--)
				storm_seal_destroy(tx[i]);
			return STORM_ENOMEM;
		}
	}
	for (int i = 0; i < STORM_LANES; i++) {
		storm_seal_destroy(l->tx[i]);
		l->tx[i] = tx[i];
		l->sequence[i] = 0;
	}
	memcpy(l->incarnation, inc, sizeof(l->incarnation));
	return STORM_OK;
}

static void peer_free(struct storm_peer *p)
{
	for (int i = 0; i < STORM_LANES; i++)
		storm_seal_destroy(p->seal[i]);
}

void storm_link_group(struct storm_link *l, const struct storm_addr *group)
{
	if (!l->t->ops->group)
		return;
	l->group = *group;
	l->group_key = storm_group_key(l->key, l->session);
	if (l->group_key)
		l->t->ops->group(l->t, group, l->group_key, true);
}

void storm_link_free(struct storm_link *l)
{
	if (l->group_key)
		l->t->ops->group(l->t, &l->group, l->group_key, false);
	for (int i = 0; i < STORM_LANES; i++)
		storm_seal_destroy(l->tx[i]);
	for (uint32_t i = 0; i < l->npeers; i++)
		peer_free(&l->peers[i]);
	free(l->peers);
	free(l->batch);
	OPENSSL_cleanse(l->key, sizeof(l->key));
	memset(l, 0, sizeof(*l));
}

/* A seal that is in use. */
#define SEAL_BYTES 1536
#define PEER_BYTES (sizeof(struct storm_peer) + STORM_LANES * SEAL_BYTES)

size_t storm_link_bytes(const struct storm_link *l)
{
	return STORM_LANES * SEAL_BYTES + l->npeers * PEER_BYTES +
	       (l->room - l->npeers) * sizeof(struct storm_peer) +
	       (l->batch ? STORM_BATCH * STORM_DATAGRAM_MAX : 0);
}

void storm_link_rest(struct storm_link *l)
{
	free(l->batch);
	l->batch = NULL;
}

static void link_header(struct storm_link *l, enum storm_lane lane,
			uint8_t type, uint16_t flags, uint64_t op, uint8_t *out,
			uint64_t *sequence)
{
	struct storm_header h = {
		.type = type,
		.flags = flags,
		.epoch = l->epoch,
		.session = l->session,
		.sender = l->self,
		.op = op,
	};

	memcpy(h.incarnation, l->incarnation, sizeof(h.incarnation));
	h.sequence = *sequence = ++l->sequence[lane];
	storm_header_pack(&h, out);
}

int storm_link_send(struct storm_link *l, uint8_t type, uint16_t flags,
		    uint64_t op, const void *body, size_t len,
		    const struct storm_addr *to, size_t nto)
{
	uint8_t buf[STORM_DATAGRAM_MAX];
	size_t total = STORM_HEADER_LEN + len + STORM_TAG_LEN;
	uint64_t seq;
	int rc = 0;

	if (total > sizeof(buf))
		return -EMSGSIZE;
	link_header(l, STORM_LANE_CONTROL, type, flags, op, buf, &seq);
	if (storm_seal_seal(l->tx[STORM_LANE_CONTROL], buf, seq, body, len,
			    buf + STORM_HEADER_LEN))
		return -EIO;
	for (size_t i = 0; i < nto; i++) {
		int e = l->t->ops->send(l->t, STORM_CONTROL, &to[i], buf, total,
					total);
		if (e) {
			rc = e;
			continue;
		}
		l->stats->tx_datagrams++;
		l->stats->tx_bytes += total;
	}
	return rc;
}

int storm_link_send_data(struct storm_link *l, uint16_t flags, uint64_t op,
			 uint64_t size, uint32_t chunk, const uint64_t *pick,
			 size_t n, storm_chunk_fn get, void *arg,
			 const struct storm_addr *to)
{
	size_t seg = STORM_HEADER_LEN + STORM_DATA_HEADER_LEN + chunk +
		     STORM_TAG_LEN;
	size_t len[STORM_BATCH], total;
	uint8_t *p;
	int rc;

	if (!n || n > STORM_BATCH)
		return -EMSGSIZE;
	if (!l->batch) {
		l->batch = malloc(STORM_BATCH * STORM_DATAGRAM_MAX);
		if (!l->batch)
			return -ENOMEM;
	}
	/* read all, then seal all: taking turns costs 4% more CPU */
	p = l->batch + STORM_HEADER_LEN;
	for (size_t i = 0; i < n; i++, p += seg) {
		uint64_t off = pick[i] * chunk;
		struct storm_out o = { p, p + STORM_DATA_HEADER_LEN, false };

		len[i] = storm_min(size - off, chunk);
		storm_put64(&o, off);
		rc = get(arg, off, o.p, len[i]);
		if (rc)
			return rc;
	}
	p = l->batch;
	for (size_t i = 0; i < n; i++, p += seg) {
		uint8_t *body = p + STORM_HEADER_LEN;
		uint64_t seq;

		link_header(l, STORM_LANE_DATA, STORM_MSG_DATA, flags, op, p,
			    &seq);
		if (storm_seal_seal(l->tx[STORM_LANE_DATA], p, seq, body,
				    STORM_DATA_HEADER_LEN + len[i], body))
			return -EIO;
	}
	total = n * seg - (chunk - len[n - 1]); /* the last one is shorter */
	rc = l->t->ops->send(l->t, STORM_BULK, to, l->batch, total, seg);
	if (rc == 0) {
		l->stats->tx_datagrams += n;
		l->stats->tx_bytes += total;
	}
	return rc;
}

int storm_link_send_run(struct storm_link *l, uint16_t flags, uint64_t op,
			uint64_t size, uint32_t chunk, uint64_t first,
			uint64_t last, storm_chunk_fn get, void *arg,
			const struct storm_addr *to)
{
	uint64_t pick[STORM_BATCH];
	size_t n = (size_t) (last - first) + 1;

	if (last - first >= STORM_BATCH)
		return -EMSGSIZE;
	for (size_t i = 0; i < n; i++)
		pick[i] = first + i;
	return storm_link_send_data(l, flags, op, size, chunk, pick, n, get,
				    arg, to);
}

static uint64_t peer_sender(const void *peer)
{
	return ((const struct storm_peer *) peer)->sender;
}

static uint32_t peer_at(const struct storm_link *l, uint32_t sender)
{
	return storm_sorted_at(l->peers, l->npeers, sizeof(*l->peers), sender,
			       peer_sender);
}

static struct storm_peer *peer_find(struct storm_link *l, uint32_t sender)
{
	uint32_t at = peer_at(l, sender);

	return at < l->npeers && l->peers[at].sender == sender ? &l->peers[at] :
								 NULL;
}

bool storm_link_admit(struct storm_link *l, uint32_t node, uint32_t epoch)
{
	struct storm_peer *p = peer_find(l, node);

	if (p && epoch > p->epoch)
		p->epoch = epoch;
	return p != NULL;
}

const uint8_t *storm_link_incarnation(struct storm_link *l, uint32_t node)
{
	struct storm_peer *p = peer_find(l, node);

	return p ? p->incarnation : NULL;
}

static struct storm_peer *peer_add(struct storm_link *l, uint32_t sender)
{
	uint32_t at = peer_at(l, sender);
	struct storm_peer *p;

	/* its room may double */
	if (l->account && storm_account_left(l->account) <
				  2 * PEER_BYTES + l->room * sizeof(*p))
		return NULL;
	if (l->npeers == l->room) {
		uint32_t room = l->room ? l->room * 2 : 8;

		p = realloc(l->peers, room * sizeof(*p));
		if (!p)
			return NULL;
		l->peers = p;
		l->room = room;
	}
	p = &l->peers[at];
	memmove(p + 1, p, (l->npeers++ - at) * sizeof(*p));
	memset(p, 0, sizeof(*p));
	p->sender = sender;
	if (l->account)
		storm_account_set(l->account, l->account->bytes + PEER_BYTES);
	return p;
}

static uint8_t *link_place(void *arg, const uint8_t *head, size_t len)
{
	struct storm_plain *out = arg;
	uint8_t *at = out->place(out->arg, head, len);

	return at ? at : out->room;
}

static const uint8_t *link_body(struct storm_link *l, struct storm_seal *s,
				const struct storm_header *h,
				const struct storm_rx *rx,
				struct storm_plain *out)
{
	const uint8_t *sealed = rx->buf + STORM_HEADER_LEN, *body = out->room;
	size_t len = rx->len - STORM_HEADER_LEN;
	bool shared = rx->group && l->t->ops->unseal;

	if (out->place && !shared)
		return storm_seal_open_data(s, rx->buf, h->sequence, sealed,
					    len, out->head, link_place, out);
	if (shared)
		body = l->t->ops->unseal(l->t, s, h->sequence, rx);
	else if (storm_seal_open(s, rx->buf, h->sequence, sealed, len,
				 out->room))
		body = NULL;
	if (!body || !out->place)
		return body;
	memcpy(out->head, body, sizeof(out->head));
	return body + sizeof(out->head);
}

static int link_unseal(struct storm_link *l, struct storm_seal *s,
		       const struct storm_header *h, const struct storm_rx *rx,
		       struct storm_plain *out)
{
	out->body = s ? link_body(l, s, h, rx, out) : NULL;
	if (!out->body) {
		l->stats->bad_seal++;
		return STORM_EAUTH;
	}
	out->len = rx->len - STORM_HEADER_LEN - STORM_TAG_LEN;
	if (out->place)
		out->len -= sizeof(out->head);
	return STORM_OK;
}

/* A datagram from an unknown sender, or from another incarnation of it.  A key is
 * derived for each, but a peer is created or replaced only after the seal has
 * been verified. */
static int link_open_first(struct storm_link *l, struct storm_peer *p,
			   enum storm_lane lane, const struct storm_header *h,
			   const struct storm_rx *rx, struct storm_plain *out)
{
	struct storm_seal *s = storm_seal_create(l->key, h->incarnation,
						 l->session, h->sender, lane);
	int err = link_unseal(l, s, h, rx, out);

	/* a node outside, which does not know the epoch yet: remember nothing */
	if (!err && p && h->epoch < p->epoch) {
		storm_seal_destroy(s);
		return STORM_OK;
	}
	if (!err && !p) {
		p = peer_add(l, h->sender);
		err = p ? STORM_OK : STORM_ENOMEM;
	} else if (!err) {
		uint32_t sender = p->sender;

		peer_free(p);
		memset(p, 0, sizeof(*p));
		p->sender = sender;
	}
	if (err) {
		storm_seal_destroy(s);
		return err;
	}
	memcpy(p->incarnation, h->incarnation, sizeof(p->incarnation));
	p->seal[lane] = s;
	return STORM_OK;
}

static struct storm_seal *peer_seal(struct storm_link *l, struct storm_peer *p,
				    enum storm_lane lane)
{
	if (!p->seal[lane])
		p->seal[lane] = storm_seal_create(l->key, p->incarnation,
						  l->session, p->sender, lane);
	return p->seal[lane];
}

static int link_open_next(struct storm_link *l, struct storm_peer *p,
			  enum storm_lane lane, const struct storm_header *h,
			  const struct storm_rx *rx, struct storm_plain *out)
{
	if (lane == STORM_LANE_CONTROL &&
	    !storm_replay_fresh(&p->replay, h->sequence)) {
		l->stats->replayed++;
		return STORM_EACCES;
	}
	return link_unseal(l, peer_seal(l, p, lane), h, rx, out);
}

static int link_open(struct storm_link *l, const struct storm_header *h,
		     bool member, const struct storm_rx *rx,
		     struct storm_plain *out)
{
	enum storm_lane lane = h->type == STORM_MSG_DATA ? STORM_LANE_DATA :
							   STORM_LANE_CONTROL;
	struct storm_peer *p = peer_find(l, h->sender);
	bool same = p && !memcmp(p->incarnation, h->incarnation,
				 sizeof(p->incarnation));
	int err;

	/* Another incarnation of a member must come with a later epoch, in
	 * which the previous one is fenced.  A non-member may begin again at
	 * any time. */
	if (p && !same && member && h->epoch <= p->epoch) {
		l->stats->fenced++;
		return STORM_EACCES;
	}
	err = same ? link_open_next(l, p, lane, h, rx, out) :
		     link_open_first(l, p, lane, h, rx, out);
	if (err)
		return err;
	p = peer_find(l, h->sender);
	if (!memcmp(p->incarnation, h->incarnation, sizeof(p->incarnation))) {
		if (h->epoch > p->epoch)
			p->epoch = h->epoch;
		if (lane == STORM_LANE_CONTROL)
			storm_replay_accept(&p->replay, h->sequence);
	}
	l->stats->rx_datagrams++;
	l->stats->rx_bytes += rx->len;
	return STORM_OK;
}

int storm_link_open(struct storm_link *l, const struct storm_header *h,
		    bool member, const struct storm_rx *rx,
		    struct storm_plain *out)
{
	out->place = NULL;
	return link_open(l, h, member, rx, out);
}

int storm_link_open_data(struct storm_link *l, const struct storm_header *h,
			 const struct storm_rx *rx, storm_place_fn place,
			 void *arg, struct storm_plain *out)
{
	if (rx->len <
	    STORM_HEADER_LEN + STORM_DATA_HEADER_LEN + STORM_TAG_LEN) {
		l->stats->bad_wire++;
		return STORM_EINVAL;
	}
	out->place = place;
	out->arg = arg;
	return link_open(l, h, true, rx, out);
}

bool storm_link_knows(const struct storm_link *l, const struct storm_header *h)
{
	uint32_t at = peer_at(l, h->sender);

	return at < l->npeers && l->peers[at].sender == h->sender &&
	       !memcmp(l->peers[at].incarnation, h->incarnation,
		       sizeof(h->incarnation));
}

int storm_link_hear(struct storm_link *l, const struct storm_header *h,
		    const struct storm_rx *rx, struct storm_plain *out)
{
	struct storm_seal *s = storm_seal_create(l->key, h->incarnation,
						 l->session, h->sender,
						 STORM_LANE_CONTROL);
	int err;

	out->place = NULL;
	err = link_unseal(l, s, h, rx, out);
	storm_seal_destroy(s);
	return err;
}
