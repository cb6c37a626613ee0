/*
 * transport.h - what the protocol asks of a network.
 *
 * The protocol code (owner.c, nm.c and the files they are made of) does no
 * I/O: it is given datagrams and the time, and gives datagrams back through
 * these operations.  udp_transport.c, verbs_transport.c and sim_net.c implement
 * them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TRANSPORT_H
#define STORM_TRANSPORT_H

#include "src/libstorm/storm.h"

struct storm_transport;
struct storm_seal;		/* seal.h */
struct storm_rx;

/* Which queue a datagram takes: bulk data never delay control. */
enum storm_class { STORM_CONTROL, STORM_BULK };

struct storm_transport_ops {
	const char *name;
	/*
	 * Send len bytes to a node, the owner or a multicast group, as
	 * datagrams of seg bytes, the last one shorter.  The bytes are taken or
	 * copied before the call returns.  Never blocks.  0, or a negative
	 * errno: -EAGAIN, nothing was taken, try again at the next tick; with
	 * anything else the datagrams count as lost.
	 */
	int (*send)(struct storm_transport *t, enum storm_class c,
		    const struct storm_addr *to,
		    const void *buf, size_t len, size_t seg);
	/*
	 * Send one OPEN, of any size, reliably.  Never blocks.  A failure that
	 * is found later (no listener, no route, refused) is reported by the
	 * handler's stream_failed() with the same session and node.
	 */
	int (*send_stream)(struct storm_transport *t,
			   const struct storm_addr *to, uint64_t session,
			   uint32_t node, const void *buf, size_t len);
	/*
	 * The verdict on an OPEN that came in; once for each stream that
	 * the handler's stream() was given.  STORM_OK: accepted.  STORM_EAUTH:
	 * sender not authenticated; send no reply.  Anything else is reported
	 * to the sender.
	 */
	void (*end_stream)(struct storm_transport *t, uint64_t stream,
			   enum storm_err err);
	/* Does its sender still wait, or has it given up? */
	bool (*stream_waits)(struct storm_transport *t, uint64_t stream);
	/* Give up what was sent for a session and is not accepted yet; no
	 * failure is reported. */
	void (*drop_streams)(struct storm_transport *t, uint64_t session);
	/* Largest datagram (UDP payload) that the interface takes. */
	size_t (*mtu)(struct storm_transport *t);
	/*
	 * Bytes of bulk that a receiver has room for: no more should be under
	 * way.  NULL: as much as the window.
	 */
	size_t (*room)(struct storm_transport *t);
	/*
	 * NULL, or: a session uses this group from now on, or no more.  An
	 * owner sends to it and a node receives from it, with this key, which
	 * separates sessions before anything is unsealed.
	 */
	void (*group)(struct storm_transport *t, const struct storm_addr *group,
		      uint32_t key, bool on);
	/*
	 * NULL except in the simulator, where the same multicast comes to many
	 * receivers in one process.  Returns what storm_seal_open() yields for
	 * the multicast that is being received now, opened once for all.  It
	 * is valid as long as the datagram.  NULL: it cannot be opened.
	 */
	const uint8_t *(*unseal)(struct storm_transport *t,
				 struct storm_seal *s, uint64_t sequence,
				 const struct storm_rx *rx);
};

/* Every transport's struct begins with this. */
struct storm_transport {
	const struct storm_transport_ops *ops;
};

/* One datagram received. */
struct storm_rx {
	uint8_t *buf;		/* for reading: others may be given the same */
	size_t len;
	bool group;		/* came by multicast */
};

/* ---------------------------------------- for the program that runs one --- */

/* Which end of the protocol a transport is for. */
enum storm_role {
	STORM_ROLE_OWNER,	/* takes no OPEN, joins no group */
	STORM_ROLE_NODE		/* at a known address, in all groups of the pool */
};

/* What a transport reports to its user. */
struct storm_net_handler {
	void (*datagrams)(void *arg, struct storm_rx *rx, size_t n);
	/* Its sender waits until the transport's end_stream(stream). */
	void (*stream)(void *arg, uint64_t stream, const void *buf,
		       size_t len);
	/* sys: an errno; with STORM_EVERSION the node's version; or 0 */
	void (*stream_failed)(void *arg, uint64_t session, uint32_t node,
			      enum storm_err why, int sys);
	void *arg;
};

#endif
