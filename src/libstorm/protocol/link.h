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

/* What is known of a node that sends.  It is made when the first good seal of
 * that node comes, and is kept as long as the session: without its window, or
 * its incarnation, old datagrams would pass as new ones.  The owner may have
 * one for each node, because a node that loses much asks the owner itself. */
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

/* Begin as `self` in this session, with its key and this incarnation.  t and
 * stats must outlive l.  STORM_OK, or STORM_ENOMEM with nothing to free. */
int storm_link_init(struct storm_link *l, struct storm_transport *t,
		    struct storm_link_stats *stats,
		    const uint8_t key[STORM_KEY_LEN], uint64_t session,
		    uint32_t self, const uint8_t inc[STORM_INCARNATION_LEN]);
/* Go on as the same participant under another incarnation; its peers stay.
 * STORM_OK, or STORM_ENOMEM with l unchanged. */
int storm_link_reborn(struct storm_link *l,
		      const uint8_t inc[STORM_INCARNATION_LEN]);
void storm_link_free(struct storm_link *l);
/* Bytes of memory that it takes. */
size_t storm_link_bytes(const struct storm_link *l);
/* No DATA are sent for now: free the memory in which they are sealed. */
void storm_link_rest(struct storm_link *l);
/* The session uses this multicast group from now on, to its end. */
void storm_link_group(struct storm_link *l, const struct storm_addr *group);

/* The node is a member from this epoch on, in the incarnation that it used
 * last.  Datagrams of an earlier incarnation no longer displace that one.
 * False: nothing was ever received from the node. */
bool storm_link_admit(struct storm_link *l, uint32_t node, uint32_t epoch);
/* The incarnation that is known of the node; NULL: nothing was received from
 * it. */
const uint8_t *storm_link_incarnation(struct storm_link *l, uint32_t node);

/* Seal a control message, and send the same sealed bytes, with one sequence, to
 * each of nto addresses.  0, or the last negative errno. */
int storm_link_send(struct storm_link *l, uint8_t type, uint16_t flags,
		    uint64_t op, const void *body, size_t len,
		    const struct storm_addr *to, size_t nto);

/* Largest body of a control message at this MTU. */
static inline size_t storm_body_max(size_t mtu)
{
	return mtu - STORM_HEADER_LEN - STORM_TAG_LEN;
}

/*
 * Send n chunks of a transfer, at most STORM_BATCH, as DATA in one send.  pick:
 * their numbers, ascending.  size: bytes of the transfer; chunk: bytes of a
 * chunk.  get() copies a chunk's bytes to buf: 0, or a positive errno, which is
 * returned.  0, or a negative errno; -EAGAIN: nothing was sent.
 */
typedef int (*storm_chunk_fn)(void *arg, uint64_t off, void *buf, size_t len);
int storm_link_send_data(struct storm_link *l, uint16_t flags, uint64_t op,
			 uint64_t size, uint32_t chunk, const uint64_t *pick,
			 size_t n, storm_chunk_fn get, void *arg,
			 const struct storm_addr *to);
/* As storm_link_send_data(), of the chunks [first, last]. */
int storm_link_send_run(struct storm_link *l, uint16_t flags, uint64_t op,
			uint64_t size, uint32_t chunk, uint64_t first,
			uint64_t last, storm_chunk_fn get, void *arg,
			const struct storm_addr *to);

/* What was sealed.  body points into room; in the simulator, to what it keeps
 * with the datagram.  DATA have their first bytes in head, and body is what
 * follows, maybe in a place of the caller's. */
struct storm_plain {
	const uint8_t *body;
	size_t len;
	uint8_t head[STORM_DATA_HEADER_LEN];
	storm_place_fn place; /* link.c's */
	void *arg;
	uint8_t room[STORM_DATAGRAM_MAX];
};

/*
 * Verify and decrypt rx, from which h was unpacked.  h names a node of the
 * domain, or its owner, as the sender.  A member has one incarnation; another
 * one is accepted only with a higher epoch (the node came back by JOIN).  A
 * non-member may have any, but it replaces the previous one only with an epoch
 * that is at least as high.  A control message passes once per sequence.
 * STORM_OK: *out is filled; otherwise the reason is counted in the stats.
 */
int storm_link_open(struct storm_link *l, const struct storm_header *h,
		    bool member, const struct storm_rx *rx,
		    struct storm_plain *out);

/* As storm_link_open(), for DATA, which only members send.  The data are
 * unsealed to where place() says, or to room if it returns NULL.  The head that
 * place() sees is not verified yet. */
int storm_link_open_data(struct storm_link *l, const struct storm_header *h,
			 const struct storm_rx *rx, storm_place_fn place,
			 void *arg, struct storm_plain *out);

/* Does h have the incarnation that is known of its sender?  */
bool storm_link_knows(const struct storm_link *l, const struct storm_header *h);
/* As storm_link_open(), for any incarnation of a sender.  The datagram may be
 * an old one that is replayed, and nothing of it is remembered. */
int storm_link_hear(struct storm_link *l, const struct storm_header *h,
		    const struct storm_rx *rx, struct storm_plain *out);

#endif
