/*
 * verbs_private.h - what the files of the verbs transport share:
 *   verbs.c           for all of them: logs, wake-ups, addresses
 *   verbs_device.c    device, port, GID and registered memory
 *   verbs_cm.c        the connection manager's port; this end's hello
 *   verbs_peer.c      look-ups of peers, and what is known of them
 *   verbs_ud.c        queue pairs and queues of datagrams
 *   verbs_group.c     multicast groups
 *   verbs_event.c     events of the connection manager and the device
 *   verbs_send.c      sends a datagram by verbs or by UDP
 *   verbs_rail.c      a rail: up, down, and up again
 *   verbs_strobe.c    the strobe rail
 *   verbs_transport.c the transport as a whole: create, poll, ops, driver
 * A file calls those above it, never one below.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_VERBS_PRIVATE_H
#define STORM_VERBS_PRIVATE_H

#include <infiniband/verbs.h>
#include <net/if.h>
#include <rdma/rdma_cma.h>
#include <sys/queue.h>

#include "src/libstorm/transport/drop.h"
#include "src/libstorm/transport/udp/udp.h"
#include "verbs.h"
#include "verbs_wire.h"

#define VERBS_SEND_MAX (256 * 1024) /* of one send(), as with UDP */
#define VERBS_POST_MAX 64	    /* datagrams posted at once */
#define VERBS_CONTROL_SENDS 256	    /* places of the send queues */
#define VERBS_BULK_SENDS 512
#define VERBS_OWNER_BULK 64	 /* receives: an owner gets little */
#define VERBS_RECEIVE_BUDGET 512 /* of all queues, each poll */

/* Bytes that wait for a peer that is being looked up. */
#define VERBS_PENDING_CONTROL (64 * 1024)
/* ns until a look-up is repeated, and until it fails. */
#define VERBS_ASK_AGAIN 400000000ull
#define VERBS_ASK_GIVE_UP 3000000000ull
#define VERBS_ASKS 8 /* repeats for one peer at a time */
/* ns of silence after which a known peer is looked up again. */
#define VERBS_DOUBT 1000000000ull
#define VERBS_DOUBT_MAX 16000000000ull /* if nothing changed each time */
#define VERBS_RETRY_MIN 1000000000ull  /* ns, for a silent peer */
#define VERBS_RETRY_MAX 10000000000ull
#define VERBS_PEER_IDLE 60000000000ull /* ns until it is forgotten */
#define VERBS_JOIN_TIME 5000000000ull  /* ns that an agent's start waits */
#define VERBS_UP_AGAIN 5000000000ull   /* ns until the device is retried */
#define VERBS_TICK_FAST 50000000ull    /* ns, during look-ups and joins */

#define VERBS_GRH 40  /* global route header before a datagram */
#define VERBS_LEAD 64 /* room for it; aligns the datagram */

enum verbs_fd {
	VERBS_FD_CHANNEL,
	VERBS_FD_CM,
	VERBS_FD_ASYNC,
	VERBS_FD_UDP,
	VERBS_FD_TIMER,
	VERBS_FD_AGAIN,
	VERBS_FD_STROBE
};

struct verbs_memory {
	uint8_t *at;
	size_t len;
	struct ibv_mr *mr;
};

/* A port of a device, with a context of our own. */
struct verbs_port {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	char device[STORM_DEVICE_MAX + 1];
	uint8_t number;
	bool ethernet;
	union ibv_gid gid;
	int gid_index;
	uint16_t pkey_index;
	__be16 pkey; /* at that index; 0: none */
	uint32_t mtu;
	struct ibv_device_attr limits;
};

/* A receive queue: of one queue pair, or shared by several. */
struct verbs_recv {
	struct ibv_cq *cq;
	struct ibv_qp *qp;   /* either this */
	struct ibv_srq *srq; /* or this */
	struct verbs_memory mem;
	uint32_t slot, depth;
	uint32_t posted;   /* not completed yet */
	struct ibv_wc *wc; /* depth completions, from next to got */
	uint32_t next, got;
	enum storm_class class;
	bool armed; /* the channel will report the next completion */
	bool group;
};
/* recv[]: unicast of each class, then multicast of each class. */
#define VERBS_RECV_GROUP 2
#define VERBS_RECVS 4

/* Datagrams that wait for room in a queue, or for a peer's look-up. */
struct verbs_rest {
	TAILQ_ENTRY(verbs_rest) link;
	struct storm_addr to;
	enum storm_class class;
	size_t seg, len;
	uint8_t bytes[];
};
TAILQ_HEAD(verbs_rests, verbs_rest);

struct verbs_send {
	struct ibv_qp *qp; /* also receives the class's unicast */
	struct verbs_memory mem;
	uint32_t slot, depth;
	uint32_t next, used; /* a ring of places */
	struct verbs_rests rests;
	size_t kept, room; /* bytes */
};

/* The destination of a datagram. */
struct verbs_dest {
	struct ibv_ah *ah;
	uint32_t qpn, qkey;
};

enum verbs_peer_state {
	VERBS_ASKING, /* in its first look-up */
	VERBS_KNOWN,
	VERBS_SILENT /* no answer: UDP, if that is allowed */
};

struct verbs_ask;

struct verbs_peer {
	LIST_ENTRY(verbs_peer) all, same_addr;
	LIST_ENTRY(verbs_peer) same_qpn[2];
	struct storm_addr addr; /* on the data rail: its identity */
	struct storm_addr at;	/* where it is looked up; differs on a strobe
				   rail */
	enum verbs_peer_state state;
	struct verbs_hello hello;
	union ibv_gid gid;
	uint16_t lid;
	struct ibv_ah *ah[2];
	LIST_HEAD(, verbs_ask) asks;
	uint32_t nasks;
	uint64_t used, heard;  /* when it was sent to, and heard, last */
	uint64_t asking_since; /* 0: no look-up is running */
	uint64_t ask_at;       /* time of the next look-up */
	uint64_t doubt;	       /* ns of silence until the next look-up */
	uint64_t retry;	       /* silent: ns until the next look-up */
	struct verbs_rests pending;
	size_t pending_bytes;
};
LIST_HEAD(verbs_peers, verbs_peer);
#define VERBS_BUCKETS 256

/* A session that uses a group. */
struct verbs_user {
	TAILQ_ENTRY(verbs_user) link;
	uint32_t qkey;
};

/* A multicast group of the fabric. */
struct verbs_member {
	struct storm_addr addr;
	enum storm_class class;
	struct ibv_qp *qp; /* nodes: receives */
	bool asked, joined, attached;
	union ibv_gid gid;
	uint16_t lid;
	struct ibv_ah *ah; /* owners */
};

struct verbs_group {
	struct verbs_member by[2];	/* by class; sessions know the address
					   of control's */
	TAILQ_HEAD(, verbs_user) users; /* the first one receives */
};

struct storm_verbs {
	struct storm_transport transport; /* first */
	struct storm_settings set;
	enum storm_role role;
	struct storm_net_handler h;
	struct storm_udp *udp;
	struct storm_transport *by_udp;
	struct storm_addr self;
	int epfd, timer, again;
	bool timer_on, again_on;
	uint64_t now; /* when this poll or send began */
	struct storm_drop drop;

	bool up;	   /* all of the following is open */
	bool port_down;	   /* it is up, and its port is down */
	bool broken;	   /* it has failed, and is to be closed */
	bool retrying;	   /* errors were logged before */
	uint64_t up_again; /* time of the next try; 0: none */
	struct verbs_port port;
	uint32_t qkey; /* of unicast */
	struct verbs_recv recv[VERBS_RECVS];
	bool logged_empty;
	struct verbs_send send[2];
	struct ibv_cq *send_cq;
	bool send_armed;

	struct rdma_event_channel *cm;
	struct rdma_cm_id *listener, *joiner;
	struct verbs_peers peers, by_addr[VERBS_BUCKETS],
		by_qpn[2][VERBS_BUCKETS];
	uint32_t asking;	  /* look-ups that are running */
	struct verbs_rests ready; /* datagrams whose peer's look-up has ended */
	bool logged_silent;
	struct verbs_group *group;
	uint32_t groups, joins; /* joins: still pending */

	struct storm_verbs *strobe; /* carries control; NULL: none */
	struct storm_verbs *data;   /* of a strobe rail: the data rail */
	bool group_failed;	    /* joins must be retried */
	uint64_t join_at;	    /* time of the retry */

	struct storm_verbs_stats stats;
};

/* verbs.c */
/* Log a warning if UDP or the data rail can be used instead, otherwise an
 * error.  While retrying it is a debug message. */
void storm_verbs_log(struct storm_verbs *v, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Log what failed; errno has the reason, and is kept or made more precise.
 * Returns STORM_ESYS. */
int storm_verbs_fail(struct storm_verbs *v, const char *what);
/* The name in storm.conf of this rail's key: one of the two. */
const char *storm_verbs_key(const struct storm_verbs *v, const char *data,
			    const char *strobe);
/* The device has failed: the current poll closes it when it ends. */
void storm_verbs_break(struct storm_verbs *v);
bool storm_verbs_working(const struct storm_verbs *v);
/* Poll when this descriptor is readable.  0 or -1. */
int storm_verbs_watch(struct storm_verbs *v, int fd, enum verbs_fd which);
void storm_verbs_again(struct storm_verbs *v); /* poll again at once */
void storm_verbs_set_timer(struct storm_verbs *v, uint64_t ns); /* 0: off */
void storm_verbs_timer(struct storm_verbs *v); /* tick fast from now on */
struct sockaddr_in storm_verbs_sockaddr(const struct storm_addr *a);

/* verbs_device.c.  The results are STORM_OK, or an error that was logged. */
/* Choose the interface if the settings name none: that of the device which they
 * name, or of the fastest active port. */
int storm_verbs_choose(struct storm_verbs *v);
/* Open the device and port that the connection manager has bound id to. */
int storm_verbs_port_open(struct storm_verbs *v, const struct rdma_cm_id *id);
void storm_verbs_port_close(struct storm_verbs *v);
int storm_verbs_memory(struct storm_verbs *v, struct verbs_memory *m,
		       size_t len);
void storm_verbs_memory_free(struct verbs_memory *m);

/* verbs_cm.c */
int storm_verbs_cm_open(struct storm_verbs *v); /* as far as a bound id */
int storm_verbs_cm_listen(struct storm_verbs *v);
void storm_verbs_cm_close(struct storm_verbs *v);
/* librdmacm keeps all devices open.  Listing the devices makes it close those
 * that were removed. */
void storm_verbs_cm_forget(void);
/* This end's hello. */
void storm_verbs_hello(const struct storm_verbs *v,
		       uint8_t out[static VERBS_HELLO_LEN]);

/* verbs_peer.c */
/* The peer with this address; looks it up if that is due.  NULL: no memory. */
struct verbs_peer *storm_verbs_peer(struct storm_verbs *v,
				    const struct storm_addr *to);
/* The peer with this address, without a look-up.  NULL: it is not known. */
struct verbs_peer *storm_verbs_peer_find(struct storm_verbs *v,
					 const struct storm_addr *to);
/* The peer with the address `to`, which is looked up at the address `at`. */
struct verbs_peer *storm_verbs_peer_at(struct storm_verbs *v,
				       const struct storm_addr *to,
				       const struct storm_addr *at);
/* The subnet has changed: the next datagram to each peer looks it up again. */
void storm_verbs_peers_doubt(struct storm_verbs *v);
/* The peer may have restarted: look it up again. */
void storm_verbs_peer_doubt(struct storm_verbs *v, const struct storm_addr *to);
/* A datagram came from this queue pair: note the time at its peer. */
void storm_verbs_peer_heard(struct storm_verbs *v, int class, uint32_t qpn,
			    const union ibv_gid *gid, uint16_t lid);
/* Copy datagrams for this peer, and keep them until its look-up ends.  0,
 * -ENOBUFS or -ENOMEM. */
int storm_verbs_peer_keep(struct storm_verbs *v, struct verbs_peer *p,
			  enum storm_class c, const void *buf, size_t len,
			  size_t seg);
void storm_verbs_peer_event(struct storm_verbs *v, struct rdma_cm_event *event);
void storm_verbs_peers_tick(struct storm_verbs *v);
void storm_verbs_peers_close(struct storm_verbs *v);

/* verbs_ud.c */
int storm_verbs_queues_open(struct storm_verbs *v);
void storm_verbs_queues_close(struct storm_verbs *v);
/* Create a queue pair on the class's shared receive queue for groups.  NULL: an
 * error that was logged. */
struct ibv_qp *storm_verbs_group_qp(struct storm_verbs *v, enum storm_class c,
				    uint32_t qkey);
int storm_verbs_set_qkey(struct ibv_qp *qp, uint32_t qkey);
/* Is there room for n datagrams?  */
bool storm_verbs_has_room(struct storm_verbs *v, enum storm_class c, size_t n);
/* Copy and post datagrams.  0; -EAGAIN: there is no room for all, and none was
 * posted; or another negative errno: they are lost. */
int storm_verbs_post(struct storm_verbs *v, enum storm_class c,
		     const struct verbs_dest *d, const uint8_t *buf, size_t len,
		     size_t seg);
/* Reap completed sends. */
void storm_verbs_sent(struct storm_verbs *v);
/* Have the next completed send wake the poll loop. */
void storm_verbs_await_room(struct storm_verbs *v);
/* Receive from all queues in turn, so that control waits for at most two
 * batches of bulk.  Bounded.  True: there may be more. */
bool storm_verbs_receive(struct storm_verbs *v);
/* Have the next datagram wake the poll loop.  True: some came before that. */
bool storm_verbs_arm(struct storm_verbs *v);

/* verbs_group.c */
bool storm_verbs_is_group(const struct storm_addr *a);
int storm_verbs_groups_open(struct storm_verbs *v);
void storm_verbs_groups_close(struct storm_verbs *v);
void storm_verbs_groups_free(struct storm_verbs *v);
void storm_verbs_group_event(struct storm_verbs *v,
			     const struct rdma_cm_event *event);
void storm_verbs_groups_tick(struct storm_verbs *v);
/* The destination of a group's datagrams.  False: not known, or not yet. */
bool storm_verbs_group_dest(struct storm_verbs *v, const struct storm_addr *to,
			    enum storm_class c, struct verbs_dest *out);
/* The transport's group(). */
void storm_verbs_group_use(struct storm_transport *t,
			   const struct storm_addr *group, uint32_t qkey,
			   bool on);

/* verbs_event.c */
void storm_verbs_cm_events(struct storm_verbs *v);
void storm_verbs_port_events(struct storm_verbs *v);
/* Handle an event of the device; port: its number, if the event is one of a
 * port. */
void storm_verbs_device_event(struct storm_verbs *v, enum ibv_event_type type,
			      int port);

/* verbs_send.c */
/* As the transport's send().  -EHOSTUNREACH: this rail does not reach `to`. */
int storm_verbs_send_by(struct storm_verbs *v, enum storm_class c,
			const struct storm_addr *to, const void *buf,
			size_t len, size_t seg);
/* Send what waits for room. */
void storm_verbs_flush(struct storm_verbs *v);
/* Send what waited for look-ups that have ended. */
void storm_verbs_send_ready(struct storm_verbs *v);
/* Discard what waits for either. */
void storm_verbs_drop_waiting(struct storm_verbs *v);

/* verbs_rail.c */
/* NULL: no memory, or no random numbers. */
struct storm_verbs *storm_verbs_alloc(const struct storm_settings *set,
				      enum storm_role role,
				      const struct storm_net_handler *h);
int storm_verbs_open_fds(struct storm_verbs *v);
/* If the settings' device is the name of an interface, use it as the interface,
 * and choose the device by that. */
void storm_verbs_interface_for_device(struct storm_verbs *v);
/* Open all of the rail, or nothing.  STORM_OK; STORM_EBUSY: another program has
 * the port, not logged; or an error that was logged. */
int storm_verbs_up(struct storm_verbs *v);
void storm_verbs_down(struct storm_verbs *v);
/* The rail is not up: log once what is used instead, and schedule a retry. */
void storm_verbs_without(struct storm_verbs *v);
void storm_verbs_try_again(struct storm_verbs *v); /* if that is due */
/* An agent starts after its groups are joined, or after VERBS_JOIN_TIME. */
void storm_verbs_wait_for_joins(struct storm_verbs *v);

/* verbs_strobe.c */
/* Open the strobe rail if the settings name one.  A failure is only logged. */
void storm_verbs_strobe_open(struct storm_verbs *v);
/* Send control datagrams.  -EHOSTUNREACH: use the data rail. */
int storm_verbs_strobe_send(struct storm_verbs *v, const struct storm_addr *to,
			    const void *buf, size_t len, size_t seg);

#endif
