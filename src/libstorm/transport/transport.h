/*
 * transport.h - what the protocol asks of a network.
 *
 * The protocol (protocol/owner, protocol/nm) does no I/O: its caller passes in
 * datagrams and the time, and it sends datagrams through these operations.
 * udp_transport.c, verbs_transport.c and sim_net.c implement them.  A transport
 * belongs to one thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TRANSPORT_H
#define STORM_TRANSPORT_H

#include "src/libstorm/storm.h"

struct storm_transport;
struct storm_seal; /* seal.h */
struct storm_rx;

/* Each class has a queue of its own, so that bulk data never delay control. */
enum storm_class { STORM_CONTROL, STORM_BULK };

/* An OPEN on its way to a node. */
enum storm_stream {
	STORM_STREAM_OVER,	 /* accepted, or it has failed */
	STORM_STREAM_CONNECTING, /* the node's host has not answered yet */
	STORM_STREAM_WAITS	 /* not begun yet, sent, or judged there */
};

struct storm_transport_ops {
	const char *name;
	/*
	 * Send len bytes to a node, the owner or a multicast group, as
	 * datagrams of seg bytes; the last one may be shorter.  buf may be
	 * reused when the call returns.  Never blocks.  0, or a negative errno.
	 * -EAGAIN: nothing was sent, try again at the next tick.  Any other
	 * error: the datagrams count as lost.
	 */
	int (*send)(struct storm_transport *t, enum storm_class c,
		    const struct storm_addr *to, const void *buf, size_t len,
		    size_t seg);
	/*
	 * Send one OPEN, of any size, reliably.  Never blocks.  A failure that
	 * is found later (no listener, no route, refused) is reported by the
	 * handler's stream_failed() with the same session and node.
	 */
	int (*send_stream)(struct storm_transport *t,
			   const struct storm_addr *to, uint64_t session,
			   uint32_t node, const void *buf, size_t len);
	/*
	 * The verdict on an OPEN that was received; once for each stream that
	 * was passed to stream().  STORM_OK: accepted.  STORM_EAUTH: sender not
	 * authenticated; send no reply, unless it has a reason.  Anything else,
	 * also a STORM_REFUSAL() with an errno, is reported to the sender.
	 */
	void (*end_stream)(struct storm_transport *t, uint64_t stream,
			   enum storm_err err);
	/* Is the sender of this stream still waiting?  False: it has given
	 * up. */
	bool (*stream_waits)(struct storm_transport *t, uint64_t stream);
	/* The address and port of a stream's sender; all zeroes: unknown, as
	 * they are without this operation. */
	struct storm_addr (*stream_from)(struct storm_transport *t,
					 uint64_t stream);
	/* Where the session's OPEN to this node is.  NULL: that is not
	 * known. */
	enum storm_stream (*stream_state)(struct storm_transport *t,
					  uint64_t session, uint32_t node);
	/* Cancel a session's OPENs that are not accepted yet; no failure is
	 * reported for them. */
	void (*drop_streams)(struct storm_transport *t, uint64_t session);
	/* Largest datagram (UDP payload) that the interface takes, in bytes. */
	size_t (*mtu)(struct storm_transport *t);
	/*
	 * Bytes of bulk data for which a receiver has room, so that no more
	 * should be in flight.  NULL: the window is the only limit.
	 */
	size_t (*room)(struct storm_transport *t);
	/*
	 * A session uses this group from now on, or (on false) no more.  An
	 * owner sends to it and a node receives from it.  The key separates
	 * sessions before anything is unsealed.  May be NULL.
	 */
	void (*group)(struct storm_transport *t, const struct storm_addr *group,
		      uint32_t key, bool on);
	/*
	 * No multicast comes here: join the groups again, as a switch may have
	 * forgotten who listens.  May be NULL.
	 */
	void (*join_again)(struct storm_transport *t);
	/*
	 * Only the simulator has it, in which a multicast comes to many
	 * receivers in one process.  Returns what storm_seal_open() yields for
	 * the multicast that is being received, which it opens once for all of
	 * them.  Valid as long as the datagram.  NULL: it cannot be opened.
	 */
	const uint8_t *(*unseal)(struct storm_transport *t,
				 struct storm_seal *s, uint64_t sequence,
				 const struct storm_rx *rx);
};

/* The first member of every transport's struct. */
struct storm_transport {
	const struct storm_transport_ops *ops;
};

/* One datagram received. */
struct storm_rx {
	uint8_t *buf; /* read only: other receivers may share it */
	size_t len;
	bool group; /* received by multicast */
	/* By UDP: the sender, as the network names it.  Else the port is 0. */
	struct storm_addr from;
};

/* ---------------------------------- for the program that runs an end --- */

/* Which end of the protocol a transport is for. */
enum storm_role {
	STORM_ROLE_OWNER, /* takes no OPEN, joins no group */
	STORM_ROLE_NODE	  /* at a known address, in the pool's groups */
};

/* How a transport reports to its user: calls from within its poll(). */
struct storm_net_handler {
	/* rx and its buffers are valid during the call. */
	void (*datagrams)(void *arg, struct storm_rx *rx, size_t n);
	/* An OPEN has come.  buf is valid during the call.  The sender waits
	 * until the transport's end_stream(stream) is called. */
	void (*stream)(void *arg, uint64_t stream, const void *buf, size_t len);
	/* An OPEN that was sent has failed.  sys: an errno, or 0; with
	 * STORM_EVERSION the node's version. */
	void (*stream_failed)(void *arg, uint64_t session, uint32_t node,
			      enum storm_err why, int sys);
	void *arg;
};

#endif
