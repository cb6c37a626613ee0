/*
 * link.h - one participant's sealed traffic in one session: what it sends,
 * and which peers it believes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LINK_H
#define STORM_LINK_H

#include "src/libstorm/base/budget.h"
#include "src/libstorm/transport/transport.h"
#include "src/libstorm/wire/seal.h"

struct storm_link_stats {
	uint64_t tx_datagrams, tx_bytes, rx_datagrams, rx_bytes;
	uint64_t bad_seal, bad_wire, bad_session, replayed, fenced;
};

/* Made by the first good seal of a node, and kept as long as the session:
 * without its window, or its incarnation, old datagrams would be new again.
 * A node that loses much asks the owner, so there may be as many as nodes. */
struct storm_peer {
	uint32_t sender, epoch; /* the latest that it sent in */
	uint8_t incarnation[STORM_INCARNATION_LEN];
	struct storm_seal *seal[STORM_LANES];
	struct storm_replay replay;
};

#define STORM_BATCH 44 /* datagrams of 1472 bytes in one send */

struct storm_link {
	struct storm_transport *t;
	struct storm_link_stats *stats; /* may be shared by sessions */
	uint8_t key[STORM_KEY_LEN];
	uint64_t session;
	uint32_t self;
	uint8_t incarnation[STORM_INCARNATION_LEN];
	uint32_t epoch;
	struct storm_seal *tx[STORM_LANES];
	uint64_t sequence[STORM_LANES];
	struct storm_peer *peers; /* by sender */
	uint32_t npeers, room;
	struct storm_account *account; /* pays for them; NULL: nobody does */
	uint8_t *batch;		       /* DATA being sealed */
	struct storm_addr group;       /* the transport's, as long as key */
	uint32_t group_key;	       /* is not 0 */
};

int storm_link_init(struct storm_link *l, struct storm_transport *t,
		    struct storm_link_stats *stats,
		    const uint8_t key[STORM_KEY_LEN], uint64_t session,
		    uint32_t self, const uint8_t inc[STORM_INCARNATION_LEN]);
/* The same participant under another incarnation; its peers stay. */
int storm_link_reborn(struct storm_link *l,
		      const uint8_t inc[STORM_INCARNATION_LEN]);
void storm_link_free(struct storm_link *l);
size_t storm_link_bytes(const struct storm_link *l); /* that it takes */
void storm_link_rest(struct storm_link *l); /* no DATA for now: take less */
/* To its end the session uses this multicast group. */
void storm_link_group(struct storm_link *l, const struct storm_addr *group);

/* A node is a member from this epoch on, in the incarnation that it used last.
 * What an earlier incarnation sent does not displace that one.  False: nothing
 * was ever received from it. */
bool storm_link_admit(struct storm_link *l, uint32_t node, uint32_t epoch);
/* The incarnation it has for us; NULL: none. */
const uint8_t *storm_link_incarnation(struct storm_link *l, uint32_t node);

/* Seal a control message and send it to each address.  The same sealed bytes
 * go to all: one sequence. */
int storm_link_send(struct storm_link *l, uint8_t type, uint16_t flags,
		    uint64_t op, const void *body, size_t len,
		    const struct storm_addr *to, size_t nto);

/* Largest body of a control message at this MTU. */
static inline size_t storm_body_max(size_t mtu)
{
	return mtu - STORM_HEADER_LEN - STORM_TAG_LEN;
}

/*
 * DATA: n chunks of a transfer, at most STORM_BATCH, as one send.  Those that are
 * picked, in ascending order.  get() yields a chunk's bytes.  0, -EAGAIN (nothing
 * sent), or an error of get (positive errno).
 */
typedef int (*storm_chunk_fn)(void *arg, uint64_t off, void *buf, size_t len);
int storm_link_send_data(struct storm_link *l, uint16_t flags, uint64_t op,
			 uint64_t size, uint32_t chunk, const uint64_t *pick,
			 size_t n, storm_chunk_fn get, void *arg,
			 const struct storm_addr *to);
/* The same of the chunks [first, last]. */
int storm_link_send_run(struct storm_link *l, uint16_t flags, uint64_t op,
			uint64_t size, uint32_t chunk, uint64_t first,
			uint64_t last, storm_chunk_fn get, void *arg,
			const struct storm_addr *to);

/* What was sealed; body points into room, or, in the simulator, to what it keeps
 * with the datagram.  DATA have their first bytes in head.  Their body is what
 * follows, and may be in a place of the caller. */
struct storm_plain {
	const uint8_t *body;
	size_t len;
	uint8_t head[STORM_DATA_HEADER_LEN];
	storm_place_fn place; /* link.c's */
	void *arg;
	uint8_t room[STORM_DATAGRAM_MAX];
};

/*
 * Verify and decrypt.  The sender is a node of the domain, as far as h says,
 * or its owner.  A member has one incarnation; another one is accepted only with a
 * higher epoch (the node came back by JOIN).  A non-member may have any, but it
 * replaces the previous one only with an epoch that is at least as high.  h was
 * unpacked from rx.  STORM_OK: *out is filled; otherwise the reason is counted.
 * Control messages pass once per sequence.
 */
int storm_link_open(struct storm_link *l, const struct storm_header *h,
		    bool member, const struct storm_rx *rx,
		    struct storm_plain *out);

/* As storm_link_open(), for DATA, which a member sends.  The data are unsealed to
 * the place that place() returns, or to room if it returns NULL.  The head that
 * place() sees may be forged. */
int storm_link_open_data(struct storm_link *l, const struct storm_header *h,
			 const struct storm_rx *rx, storm_place_fn place,
			 void *arg, struct storm_plain *out);

/* Is h from the incarnation of its sender that is known here? */
bool storm_link_knows(const struct storm_link *l, const struct storm_header *h);
/* As storm_link_open(), for any incarnation of a sender.  Nothing of it is
 * remembered, and it may be a replay of an old datagram. */
int storm_link_hear(struct storm_link *l, const struct storm_header *h,
		    const struct storm_rx *rx, struct storm_plain *out);

#endif
