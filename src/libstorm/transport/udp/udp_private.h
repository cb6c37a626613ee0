/*
 * udp_private.h - what the files of the UDP transport share:
 *   udp_iface.c     chooses the interface and its address
 *   udp.c           addresses, sockets, and their set-up
 *   udp_datagram.c  sending and receiving datagrams
 *   udp_filter.c    programs by which the kernel tells datagrams apart
 *   udp_choice.c    which of the sockets of one port gets a unicast
 *   udp_pulse.c     the socket of signs of life
 *   udp_strobe.c    the socket of strobes, and which datagrams come to which
 *   udp_join.c      joining the groups again
 *   udp_alive.c     whether an agent that is silent still runs
 *   udp_lost.c      whether packets get lost, as TCP shows it
 *   udp_stream_out.c  OPENs over TCP that are sent
 *   udp_stream.c    OPENs over TCP that are received
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
#include "src/libstorm/wire/wire.h"
#include "udp.h"

#define UDP_PAYLOAD_MAX 65507 /* of one IPv4 datagram */
/* Limits of a super-packet that all kernels and devices accept.  With link
 * headers it must stay below 64 KiB.  A larger one is segmented in software, at
 * a tenth of the speed. */
#define UDP_SUPER_SEGS 64
#define UDP_SUPER_MAX (65536 - 256)
#define UDP_IP_HEADERS 28 /* IPv4 without options, and UDP */

/* Most bytes of one send().  What the socket does not take is copied, so the
 * copy must be bounded. */
#define UDP_SEND_MAX (256 * 1024)

/* Few buffers, so that data is unsealed while it is in the core's own cache.
 * With 16 an agent needed a third more time for a file. */
#define UDP_RX_BUFS 2
#define UDP_RX_BUF_SIZE 65536
#define UDP_RX_ROUNDS 32 /* receive calls per socket and poll */
/* An owner gets little, and strobes wait while it reads. */
#define UDP_RX_ROUNDS_OWNER 4
#define UDP_RX_BATCH 256

#define UDP_STREAM_MAX (4 * 1024 * 1024) /* as STORM_OPEN_MAX */
#define UDP_STREAMS_IN 64		 /* half-read at the same time */
/* ns until a half-read one is closed; its sender has given up by then. */
#define UDP_STREAM_IN_TIME(u) (2 * (u)->set.open_timeout)
/* If UDP_STREAMS_IN are half-read, a new connection evicts one: the oldest of
 * the host that has the most.  It must have this age, in ns; less if the host
 * has UDP_STREAMS_MANY. */
#define UDP_STREAM_IN_GRACE 1000000000ull
#define UDP_STREAMS_MANY 16
#define UDP_STREAM_IN_GRACE_MANY 20000000ull
/* Limits of streams that are whole, and whose senders wait for the verdict.
 * One host may have half of each. */
#define UDP_STREAMS_HELD 256
#define UDP_STREAMS_HELD_BYTES (8 * 1024 * 1024)
#define UDP_STREAMS_OUT 128	 /* connecting or writing */
#define UDP_STREAMS_WAITING 1024 /* behind those */
#define UDP_STREAMS_OUT_BYTES (128 * 1024 * 1024)
#define UDP_STREAMS_OUT_BYTES_NODE (16 * 1024 * 1024) /* of an agent */

/* Kinds of epoll events, in the order in which storm_udp_poll() handles them.
 * The timer is last, because it frees streams to which other events of the same
 * batch may refer. */
enum udp_kind {
	UDP_TX_BULK,
	UDP_RAIL,
	UDP_CONTROL,
	UDP_GROUP,
	UDP_STREAM_OUT,
	UDP_STREAM_IN,
	UDP_LISTENER,
	UDP_TIMER,
	UDP_KINDS
};

struct udp_src {
	enum udp_kind kind;
	int fd;
};

/* The part of a send() that the socket did not take. */
struct udp_rest {
	TAILQ_ENTRY(udp_rest) link;
	struct sockaddr_in to;
	size_t seg, len, off;
	uint8_t bytes[];
};
TAILQ_HEAD(udp_rests, udp_rest);

/*
 * The sending side of a class.  A send() is accepted whole or not at all.  So
 * the part that the socket did not take is kept here until the socket is
 * writable again.  An agent also keeps later sends, up to room bytes, because
 * it relays and cannot make its sender wait.  An owner can wait, and has no
 * room.
 */
struct udp_tx {
	struct udp_src src;
	bool armed; /* waiting for EPOLLOUT */
	struct udp_rests rests;
	size_t kept, room; /* bytes */
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
	uint16_t from_port;
	uint8_t head[4];
	uint32_t len, room; /* announced, allocated */
	uint32_t got;	    /* head included */
	uint8_t *buf;
	uint64_t number; /* for end_stream(); 0: still half-read */
};

struct udp_stream_out {
	struct udp_src src; /* fd -1: not started yet, or failed */
	TAILQ_ENTRY(udp_stream_out) link;
	uint64_t deadline;
	struct sockaddr_in to;
	uint64_t session;
	uint32_t node;
	bool connected;
	uint64_t again_at; /* not connected by then: try again */
	uint32_t tries;
	int err; /* an errno that the timer reports; 0: none */
	/* All is sent, and no verdict comes.  At this time the agent is asked
	 * whether it runs; once asked, it must have answered by then.  0: not
	 * all is sent. */
	uint64_t alive_at;
	int alive_fd;	 /* by which it is asked; -1: it is not */
	bool alive_said; /* the question was sent */
	uint32_t alive_tries;
	bool lost; /* it was noted as a connection that lost packets */
	uint8_t answer[STORM_REFUSAL_LEN + 1]; /* longer: not STORM's */
	size_t answered;
	size_t len, off;
	uint8_t buf[]; /* length prefix and the bytes */
};

TAILQ_HEAD(udp_streams_in, udp_stream_in);
TAILQ_HEAD(udp_streams_out, udp_stream_out);

/* See udp_choice.c. */
struct udp_choice {
	uint32_t bound; /* sockets beside the one for control */
	uint32_t strobe_number, pulse_number;
	const struct storm_strobe_match *strobe; /* NULL: no strobes */
	uint64_t pulse; /* the session of the signs of life; 0: none */
};

/* The last connections that lost packets; see udp_lost.c. */
#define UDP_LOST_MANY 3
struct udp_lost {
	struct {
		struct in_addr peer;
		uint64_t at; /* 0: none */
	} last[UDP_LOST_MANY];
	uint32_t next; /* the place of the next one */
};

struct storm_udp {
	struct storm_transport transport; /* first */
	struct storm_settings set;
	enum storm_role role;
	struct storm_net_handler h;
	struct udp_iface iface, rail;
	bool has_rail;
	uint16_t port;
	int epfd;
	/* By class.  The socket for control also receives all unicast. */
	struct udp_tx tx[2];
	struct udp_src *group;	    /* on the interface, then on the rail */
	struct in_addr *group_addr; /* of each of them */
	uint32_t groups;
	bool gso;
	/* each is logged once */
	bool logged_family, logged_size, logged_send;

	struct udp_rx *rx; /* receive buffers */
	struct storm_drop drop;
	struct udp_choice choice;
	struct udp_pulse *pulse;   /* NULL: signs of life have no socket */
	struct udp_strobe *strobe; /* NULL: strobes have no socket */
	uint64_t *session; /* of these alone datagrams pass; NULL: of all */
	size_t sessions;

	struct udp_src listener, timer;
	bool listener_paused, timer_on;
	struct udp_streams_in in;
	struct udp_streams_out out;
	uint32_t in_count, out_active, out_waiting; /* in: half-read */
	uint64_t out_closed_at; /* when the last OPEN was taken */
	uint64_t out_due_at;	/* when out's timers were looked at; 0: there
				were none */
	struct udp_lost out_lost;
	uint32_t held_count;
	size_t held_bytes, out_bytes;
	uint16_t out_port; /* the last privileged port that was used */
	uint64_t in_numbers;

	struct storm_udp_stats stats;
};

/* udp.c */
/* Call epoll_ctl() with op for src.  events 0 mutes one that was added.  0, or
 * -1 and errno. */
int storm_udp_watch(struct storm_udp *u, int op, struct udp_src *src,
		    uint32_t events);
/* Close a connection, for children of this process that hold its descriptor,
 * too.  A mere close() would leave it in epoll, and the peer would not see its
 * end. */
void storm_udp_unwatch_close(struct storm_udp *u, int fd);
/* False for anything but IPv4; the first time it is logged. */
bool storm_udp_sockaddr(struct storm_udp *u, const struct storm_addr *a,
			struct sockaddr_in *sin);
void storm_udp_addr(struct storm_addr *a, struct in_addr ip, uint16_t port);
/* Find the strobe rail, if the settings name one.  Without it everything uses
 * the interface.  Multicast does not reach a node that is not on the rail; the
 * owner detects that, and uses the chain. */
void storm_udp_find_rail(struct storm_udp *u);
/* Open the sockets, in this order.  STORM_OK, or an error that was logged. */
int storm_udp_open_control(struct storm_udp *u);
int storm_udp_open_bulk(struct storm_udp *u);
int storm_udp_open_groups(struct storm_udp *u);

/* Make a UDP socket with the options that all have; -1 and errno. */
int storm_udp_socket(void);
/* Have the socket send as control does.  STORM_OK, or an error that was
 * logged. */
int storm_udp_control(struct storm_udp *u, int fd);
int storm_udp_bind(int fd, struct in_addr ip, uint16_t port);
/* setsockopt() for an int. */
int storm_udp_option(int fd, int level, int name, int value);

/* udp_iface.c: STORM_OK, or an error that was logged, but for the last one. */
/* Choose the interface by the settings or by peer, see storm_udp_create(). */
int storm_udp_iface(const struct storm_settings *set,
		    const struct storm_addr *peer, struct udp_iface *out);
/* Find the interface with this name, which is the value of `key` in
 * storm.conf. */
int storm_udp_iface_named(const struct storm_settings *set, const char *name,
			  const char *key, struct udp_iface *out);
/* Join a group at an interface, or leave it: IP_ADD_MEMBERSHIP, IP_DROP_MEMBERSHIP.  0, or
 * -1 and errno. */
int storm_udp_membership(int fd, const struct udp_iface *at,
			 struct in_addr group, int option);

/* udp_datagram.c */
int storm_udp_rx_init(struct storm_udp *u); /* 0 or an errno */
void storm_udp_rx_fini(struct storm_udp *u);
int storm_udp_send(struct storm_transport *t, enum storm_class c,
		   const struct storm_addr *to, const void *buf, size_t len,
		   size_t seg);
/* The socket is writable again: send what was kept. */
void storm_udp_writable(struct storm_udp *u, struct udp_tx *tx);
void storm_udp_tx_fini(struct udp_tx *tx);
void storm_udp_receive(struct storm_udp *u, int fd, bool group);

/* udp_join.c */
/* Leave all groups and join them again, so that switches hear of it. */
void storm_udp_join_again(struct storm_transport *t);

/* udp_choice.c */
/* Bind the socket to the port, beside the others there.  *number is for the
 * choice.  0, or -1 and errno. */
int storm_udp_choice_bind(struct storm_udp *u, int fd, uint32_t *number);
/* Have the kernel choose by u->choice.  0, or -1 and errno. */
int storm_udp_choice_set(struct storm_udp *u);

/* udp_pulse.c */
extern const struct storm_pulse_ops storm_udp_pulse_ops;
void storm_udp_pulse_close(struct storm_udp *u);
/* Add the counters of its socket to those of the other sockets. */
void storm_udp_pulse_count(const struct storm_udp *u,
			   struct storm_udp_stats *out);
void storm_udp_pulse_drop(struct storm_udp *u, uint32_t ppm);

/* udp_strobe.c */
extern const struct storm_strobe_ops storm_udp_strobe_ops;
/* The socket for strobes joins their group, if there is one, or leaves it.  The kernel
 * tells switches of the first socket and the last one of a group only. */
void storm_udp_strobe_join(struct storm_udp *u, bool join);
void storm_udp_strobe_close(struct storm_udp *u);
/* Add the counters of the socket for strobes to those of the other sockets. */
void storm_udp_strobe_count(const struct storm_udp *u,
			    struct storm_udp_stats *out);
void storm_udp_strobe_drop(struct storm_udp *u, uint32_t ppm, uint64_t seed);
void storm_udp_admit(struct storm_net *net, const uint64_t *session, size_t n,
		     bool on);

/* udp_alive.c */
/* Ask whether an agent runs there.  A socket, which the caller closes, or
 * -1. */
int storm_udp_alive_ask(const struct sockaddr_in *to);
/* Has anything come back?  *said: false at first; true once the question was
 * sent. */
bool storm_udp_alive_answered(int fd, bool *said);

/* udp_lost.c */
/* How many packets has the kernel sent again over this TCP connection? */
uint32_t storm_udp_repeated(int fd);
/* A connection to this peer has lost packets, and came about, or ended well. */
void storm_udp_lost(struct udp_lost *l, struct in_addr peer, uint64_t now);
/* Do packets get lost here, and not only those of one peer? */
bool storm_udp_is_lossy(const struct udp_lost *l, uint64_t now);

/* udp_stream_out.c */
int storm_udp_send_stream(struct storm_transport *t,
			  const struct storm_addr *to, uint64_t session,
			  uint32_t node, const void *buf, size_t len);
void storm_udp_drop_streams(struct storm_transport *t, uint64_t session);
enum storm_stream storm_udp_stream_state(struct storm_transport *t,
					 uint64_t session, uint32_t node);
/* Handle an event of a stream, which may free s. */
void storm_udp_stream_out(struct storm_udp *u, struct udp_stream_out *s);
/* End the streams that have failed, or whose time is over. */
void storm_udp_streams_out_due(struct storm_udp *u, uint64_t now);
void storm_udp_streams_out_fini(struct storm_udp *u);
/* Run the timer while there are streams; at_once: one has failed already. */
void storm_udp_stream_timer_start(struct storm_udp *u, bool at_once);

/* udp_stream.c */
/* Open the listener.  STORM_OK, or an error that was logged. */
int storm_udp_listen(struct storm_udp *u);
void storm_udp_end_stream(struct storm_transport *t, uint64_t stream,
			  enum storm_err err);
bool storm_udp_stream_waits(struct storm_transport *t, uint64_t stream);
struct storm_addr storm_udp_stream_from(struct storm_transport *t,
					uint64_t stream);
/* Handle an event: of the listener, of a stream that is received, of the
 * timer.  Each may free streams. */
void storm_udp_accept(struct storm_udp *u);
void storm_udp_stream_in(struct storm_udp *u, struct udp_stream_in *s);
void storm_udp_stream_timer(struct storm_udp *u);
void storm_udp_streams_fini(struct storm_udp *u);

#endif
