/*
 * verbs_rc.h - reliable queue pairs to the ends that this one sends much to:
 * its neighbours in the tree, and nodes that need repair.
 *
 * A pair carries datagrams one way, from the end that connected it to the one
 * that listens, so two ends that send to each other have two pairs.  So a pair
 * leads where its address leads, as a UDP datagram does: no end can receive
 * what is meant for another by connecting in its name.
 *
 * A pair is a ring of slots in the receiver's memory.  A datagram is written
 * into the next slot, and the immediate value has slot and length.  The
 * receiver writes the number of slots that it has emptied into a word in the
 * sender's memory.  So a sender never waits, and a receiver always has a
 * buffer.  Where there is no pair, or no free slot, the datagram is not taken,
 * and is sent as a single one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_VERBS_RC_H
#define STORM_VERBS_RC_H

#include <sys/types.h>

#include "transport.h"

struct storm_rc;

struct storm_rc_conf {
	struct storm_addr self;	/* IPv4, of the RDMA device; and where to
				   listen, as others address this end */
	size_t slot;		/* the largest datagram, at most 65536 */
	uint32_t slots[2];	/* of a pair, by class: a power of 2, 4 to
				   1024 */
	uint32_t out_max;	/* pairs that this end connects, at most; */
	uint32_t in_max;	/* and that it accepts; 1 to 4096 */
	uint32_t connecting_max;	/* at the same time */
	uint32_t busy;		/* sends to an end in a second for which it gets
				   a pair; 1: the first does */
	uint8_t tos[2];		/* traffic class, DSCP << 2 */
	uint8_t retries;	/* of a packet, 1 to 6 */
	uint64_t dead_after;	/* ns, about, until an end that is gone is
				   given up; from 10 ms */
	uint64_t connect_timeout;	/* ns */
};

struct storm_rc_stats {
	uint64_t tx_datagrams, tx_bytes, rx_datagrams, rx_bytes;
	uint64_t no_slot;	/* sends not taken, or in part: none was free */
	uint64_t connected, accepted, refused;	/* refused: by us */
	uint64_t failed;	/* connects and pairs that ended by an error */
	uint64_t evicted;	/* for others that are used more */
	uint64_t bad;		/* peers that broke the rules of the ring */
	uint32_t out, in;	/* pairs at the moment */
};

/* What suits a node: the slot and the address are the caller's to set. */
void storm_rc_default(struct storm_rc_conf *conf);

/*
 * h->datagrams alone is called, by storm_rc_poll().  NULL and *err (errno is
 * kept, the reason was logged): STORM_EINVAL, STORM_ENOMEM, or STORM_ESYS
 * where the address is no RDMA device's, or its port is in use.
 */
struct storm_rc *storm_rc_create(const struct storm_rc_conf *conf,
				 const struct storm_net_handler *h, int *err);
void storm_rc_destroy(struct storm_rc *rc);

/*
 * As a transport's send(), never blocking: how many bytes of it were taken,
 * whole segments from the front; the rest is for the caller to send otherwise.
 * -EAGAIN: no slot is free; -ENOTCONN: there is no pair, though there may be
 * one soon.  What was taken arrives in order, unless the pair or its other end
 * fails.  Each class has pairs of its own, so that control never stands behind
 * bulk data.
 */
ssize_t storm_rc_send(struct storm_rc *rc, enum storm_class c,
		      const struct storm_addr *to, const void *buf, size_t len,
		      size_t seg);
/* How many datagrams it would take; asking does not count as a send. */
uint32_t storm_rc_room(struct storm_rc *rc, enum storm_class c,
		       const struct storm_addr *to);

/* Readable when poll() has work; bounded work a call. */
int storm_rc_fd(const struct storm_rc *rc);
void storm_rc_poll(struct storm_rc *rc);

void storm_rc_stats(const struct storm_rc *rc, struct storm_rc_stats *out);

#endif
