/*
 * udp_private.h - what the files of the UDP transport share:
 *   udp_iface.c     which interface, which address
 *   udp.c           addresses, sockets, and their set-up
 *   udp_datagram.c  sending and receiving datagrams
 *   udp_stream.c    OPENs over TCP
 *   udp_transport.c the transport as a whole: create, poll, operations, driver
 * A file calls those above it, never one below.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_UDP_PRIVATE_H
#define STORM_UDP_PRIVATE_H

#include <net/if.h>
#include <netinet/in.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "src/libstorm/transport/drop.h"
#include "udp.h"
#include "src/libstorm/wire/wire.h"

#define UDP_PAYLOAD_MAX 65507	/* of one IPv4 datagram */
/* A super-packet: what every kernel takes, and what every device does.  With
 * its link headers it must stay below 64 KiB, or it is segmented before the
 * device rather than in or behind it, at a tenth of the speed. */
#define UDP_SUPER_SEGS 64
#define UDP_SUPER_MAX (65536 - 256)
#define UDP_IP_HEADERS 28	/* IPv4 without options, and UDP */

/* One send() is at most this long: what the socket does not take at once is
 * copied, so the copy must have a bound. */
#define UDP_SEND_MAX (256 * 1024)

/* Few: what was received is unsealed while it is in the core's own cache.  With
 * 16 of them an agent needed a third more time for a file. */
#define UDP_RX_BUFS 2
#define UDP_RX_BUF_SIZE 65536
#define UDP_RX_ROUNDS 32	/* receive calls for a socket and poll */
#define UDP_RX_BATCH 256

#define UDP_STREAM_MAX (4 * 1024 * 1024)	/* as STORM_OPEN_MAX */
#define UDP_STREAMS_IN 64		/* half-read at the same time */
/* ns for one of them: its sender has given up by then */
#define UDP_STREAM_IN_TIME(u) (2 * (u)->set.open_timeout)
/* When there are so many, one goes: the oldest of the host that has most, once
 * it is that old; of a host that has many, soon. */
#define UDP_STREAM_IN_GRACE 1000000000ull
#define UDP_STREAMS_MANY 16
#define UDP_STREAM_IN_GRACE_MANY 20000000ull
/* Whole, their senders waiting for the verdict; a host may have half of it. */
#define UDP_STREAMS_HELD 256
#define UDP_STREAMS_HELD_BYTES (64 * 1024 * 1024)
#define UDP_STREAMS_OUT 128		/* connecting or writing */
#define UDP_STREAMS_WAITING 1024	/* behind those */
#define UDP_STREAMS_OUT_BYTES (128 * 1024 * 1024)

/* What an epoll event is about, in the order in which storm_udp_poll() serves
 * them: control first; the timer last, because it frees streams that another
 * event of the same batch may be about. */
enum udp_kind {
	UDP_TX_BULK, UDP_RAIL, UDP_CONTROL, UDP_GROUP, UDP_STREAM_OUT,
	UDP_STREAM_IN, UDP_LISTENER, UDP_TIMER, UDP_KINDS
};

struct udp_src {
	enum udp_kind kind;
	int fd;
};

/* What the socket did not take of a send(). */
struct udp_rest {
	TAILQ_ENTRY(udp_rest) link;
	struct sockaddr_in to;
	size_t seg, len, off;
	uint8_t bytes[];
};
TAILQ_HEAD(udp_rests, udp_rest);

/*
 * The sending side of a class.  A send() is taken whole or not at all, so what
 * the socket left of one is kept here until it is writable again.  So are, as
 * far as there is room, the sends after it: an agent that relays can't ask its
 * sender to wait.  An owner can wait itself, and has no room.
 */
struct udp_tx {
	struct udp_src src;
	bool armed;		/* waiting for EPOLLOUT */
	struct udp_rests rests;
	size_t kept, room;	/* bytes */
};

struct udp_iface {
	char name[IF_NAMESIZE];
	int index;
	struct in_addr addr;
	size_t mtu;
};

struct udp_stream_in {
	struct udp_src src;
	TAILQ_ENTRY(udp_stream_in) link;
	uint64_t since;
	struct in_addr from;
	uint8_t head[4];
	uint32_t len, room;	/* announced, allocated */
	uint32_t got;		/* head included */
	uint8_t *buf;
	uint64_t number;	/* for end_stream(); 0: not read yet */
};

struct udp_stream_out {
	struct udp_src src;	/* fd -1: waiting for its turn, or failed */
	TAILQ_ENTRY(udp_stream_out) link;
	uint64_t deadline;
	struct sockaddr_in to;
	uint64_t session;
	uint32_t node;
	bool connected;
	int err;		/* failed: the timer reports it */
	uint8_t answer[STORM_REFUSAL_LEN + 1];	/* more is none */
	size_t answered;
	size_t len, off;
	uint8_t buf[];		/* length prefix and the bytes */
};

TAILQ_HEAD(udp_streams_in, udp_stream_in);
TAILQ_HEAD(udp_streams_out, udp_stream_out);

struct storm_udp {
	struct storm_transport transport;	/* first */
	struct storm_settings set;
	enum storm_role role;
	struct storm_net_handler h;
	struct udp_iface iface, rail;
	bool has_rail;
	uint16_t port;
	int epfd;
	/* By class.  The control class's socket also receives all unicast. */
	struct udp_tx tx[2];
	struct udp_src *group;	/* of the interface, then of the rail */
	uint32_t groups;
	bool gso;
	/* each is logged once */
	bool logged_family, logged_size, logged_send;

	struct udp_rx *rx;	/* receive buffers */
	struct storm_drop drop;

	struct udp_src listener, timer;
	bool listener_paused, timer_on;
	struct udp_streams_in in;
	struct udp_streams_out out;
	uint32_t in_count, out_active, out_waiting;	/* in: half-read */
	uint32_t held_count;
	size_t held_bytes, out_bytes;
	uint64_t in_numbers;

	struct storm_udp_stats stats;
};

/* udp.c */
/* Add to, change in or (events 0, for ADD'ed ones) mute in the epoll. */
int storm_udp_watch(struct storm_udp *u, int op, struct udp_src *src,
		    uint32_t events);
bool storm_udp_is_v4(const struct storm_addr *a);
/* False, and a log once, for anything but IPv4. */
bool storm_udp_sockaddr(struct storm_udp *u, const struct storm_addr *a,
			struct sockaddr_in *sin);
void storm_udp_addr(struct storm_addr *a, struct in_addr ip, uint16_t port);
/* The strobe rail, if the settings name one.  Without it everything uses the
 * interface.  Multicast does not reach a node that is not on the rail, and the
 * owner notices. */
void storm_udp_find_rail(struct storm_udp *u);
/* The sockets, in this order.  STORM_OK, or an error that has been logged. */
int storm_udp_open_control(struct storm_udp *u);
int storm_udp_open_bulk(struct storm_udp *u);
int storm_udp_open_groups(struct storm_udp *u);

/* udp_iface.c: STORM_OK, or an error that has been logged. */
int storm_udp_iface(const struct storm_settings *set,
		    const struct storm_addr *peer, struct udp_iface *out);
/* The one of this name, which stands behind that key of storm.conf. */
int storm_udp_iface_named(const struct storm_settings *set, const char *name,
			  const char *key, struct udp_iface *out);

/* udp_datagram.c */
int storm_udp_rx_init(struct storm_udp *u);	/* 0 or an errno */
void storm_udp_rx_fini(struct storm_udp *u);
int storm_udp_send(struct storm_transport *t, enum storm_class c,
		   const struct storm_addr *to, const void *buf, size_t len,
		   size_t seg);
void storm_udp_writable(struct storm_udp *u, struct udp_tx *tx);
void storm_udp_tx_fini(struct udp_tx *tx);
void storm_udp_receive(struct storm_udp *u, int fd, bool group);

/* udp_stream.c */
int storm_udp_listen(struct storm_udp *u);	/* STORM_OK, or logged */
int storm_udp_send_stream(struct storm_transport *t,
			  const struct storm_addr *to, uint64_t session,
			  uint32_t node, const void *buf, size_t len);
void storm_udp_end_stream(struct storm_transport *t, uint64_t stream,
			  enum storm_err err);
bool storm_udp_stream_waits(struct storm_transport *t, uint64_t stream);
void storm_udp_drop_streams(struct storm_transport *t, uint64_t session);
void storm_udp_accept(struct storm_udp *u);
void storm_udp_stream_in(struct storm_udp *u, struct udp_stream_in *s);
void storm_udp_stream_out(struct storm_udp *u, struct udp_stream_out *s);
void storm_udp_stream_timer(struct storm_udp *u);
void storm_udp_streams_fini(struct storm_udp *u);

#endif
