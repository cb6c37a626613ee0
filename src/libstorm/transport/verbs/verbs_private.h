/*
 * verbs_private.h - what the files of the verbs transport share:
 *   verbs.c           what all of them need: logs, wake-ups, addresses
 *   verbs_device.c    device, port, GID and registered memory
 *   verbs_cm.c        the connection manager's port; where this end is
 *   verbs_peer.c      where others are
 *   verbs_ud.c        queue pairs and queues of datagrams
 *   verbs_group.c     multicast groups
 *   verbs_event.c     events of the connection manager and the device
 *   verbs_send.c      which way a datagram takes
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

#define VERBS_SEND_MAX (256 * 1024)	/* of one send(), as with UDP */
#define VERBS_POST_MAX 64		/* datagrams posted at once */
#define VERBS_CONTROL_SENDS 256		/* places of the send queues */
#define VERBS_BULK_SENDS 512
#define VERBS_OWNER_BULK 64		/* receives: an owner is sent little */
#define VERBS_RECEIVE_BUDGET 512	/* of all queues, each poll */

/* A peer that is not known yet: what waits for it, in bytes. */
#define VERBS_PENDING_CONTROL (64 * 1024)
/* It is asked again after so long, and given up for now. */
#define VERBS_ASK_AGAIN 400000000ull	/* ns */
#define VERBS_ASK_GIVE_UP 3000000000ull
#define VERBS_ASKS 8			/* of one peer at a time */
/* Nothing was heard for so long: is it still where it was? */
#define VERBS_DOUBT 1000000000ull
#define VERBS_DOUBT_MAX 16000000000ull	/* it was, each time */
#define VERBS_RETRY_MIN 1000000000ull	/* one that did not answer */
#define VERBS_RETRY_MAX 10000000000ull
#define VERBS_PEER_IDLE 60000000000ull	/* forgotten */
#define VERBS_JOIN_TIME 5000000000ull	/* an agent waits so long, once */
#define VERBS_UP_AGAIN 5000000000ull	/* the device is tried again */
#define VERBS_TICK_FAST 50000000ull	/* while a peer is being asked */

#define VERBS_GRH 40		/* before each datagram received */
#define VERBS_LEAD 64		/* so that what it is before begins a line */

enum verbs_fd {
	VERBS_FD_CHANNEL, VERBS_FD_CM, VERBS_FD_ASYNC, VERBS_FD_UDP,
	VERBS_FD_TIMER, VERBS_FD_AGAIN, VERBS_FD_STROBE
};

struct verbs_memory {
	uint8_t *at;
	size_t len;
	struct ibv_mr *mr;
};

/* A port of a device, opened for us alone. */
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
	__be16 pkey;		/* there; 0: it has none */
	uint32_t mtu;
	struct ibv_device_attr limits;
};

/* Receives are given to a queue pair, or to several by a shared queue. */
struct verbs_recv {
	struct ibv_cq *cq;
	struct ibv_qp *qp;	/* either */
	struct ibv_srq *srq;	/* or */
	struct verbs_memory mem;
	uint32_t slot, depth;
	uint32_t posted;	/* not completed yet */
	struct ibv_wc *wc;	/* depth completions, from next to got */
	uint32_t next, got;
	enum storm_class class;
	bool armed;		/* the channel will report the next one */
	bool group;
};
/* Of each class: unicast, and what groups get. */
#define VERBS_RECV_GROUP 2
#define VERBS_RECVS 4

/* Datagrams that wait: for room in a queue, or for a peer. */
struct verbs_rest {
	TAILQ_ENTRY(verbs_rest) link;
	struct storm_addr to;
	enum storm_class class;
	size_t seg, len;
	uint8_t bytes[];
};
TAILQ_HEAD(verbs_rests, verbs_rest);

struct verbs_send {
	struct ibv_qp *qp;	/* also receives the class's unicast */
	struct verbs_memory mem;
	uint32_t slot, depth;
	uint32_t next, used;	/* a ring of places */
	struct verbs_rests rests;
	size_t kept, room;	/* bytes */
};

/* Where a datagram goes. */
struct verbs_dest {
	struct ibv_ah *ah;
	uint32_t qpn, qkey;
};

enum verbs_peer_state {
	VERBS_ASKING,		/* for the first time */
	VERBS_KNOWN,
	VERBS_SILENT		/* by UDP, if at all */
};

struct verbs_ask;

struct verbs_peer {
	LIST_ENTRY(verbs_peer) all, same_addr;
	LIST_ENTRY(verbs_peer) same_qpn[2];
	struct storm_addr addr;	/* what it is known by */
	struct storm_addr at;	/* where it is asked; the same, but on a strobe
				   rail */
	enum verbs_peer_state state;
	struct verbs_hello hello;
	union ibv_gid gid;
	uint16_t lid;
	struct ibv_ah *ah[2];
	LIST_HEAD(, verbs_ask) asks;
	uint32_t nasks;
	uint64_t used, heard;	/* sent to, received from */
	uint64_t asking_since;	/* 0: nothing is being asked */
	uint64_t ask_at;	/* again */
	uint64_t doubt;		/* ns of silence until it is asked again */
	uint64_t retry;		/* silent: ns until then */
	struct verbs_rests pending;
	size_t pending_bytes;
};
LIST_HEAD(verbs_peers, verbs_peer);
#define VERBS_BUCKETS 256

/* One way for a group's data to us, and from us. */
struct verbs_user {
	TAILQ_ENTRY(verbs_user) link;
	uint32_t qkey;
};

/* Of a session's group there are two, one for each class. */
struct verbs_member {
	struct storm_addr addr;
	enum storm_class class;
	struct ibv_qp *qp;	/* nodes: receives */
	bool asked, joined, attached;
	union ibv_gid gid;
	uint16_t lid;
	struct ibv_ah *ah;	/* owners */
};

struct verbs_group {
	struct verbs_member by[2];	/* class; control's is the one that
					   sessions know */
	TAILQ_HEAD(, verbs_user) users;	/* the first one has it */
};

struct storm_verbs {
	struct storm_transport transport;	/* first */
	struct storm_settings set;
	enum storm_role role;
	struct storm_net_handler h;
	struct storm_udp *udp;
	struct storm_transport *by_udp;
	struct storm_addr self;
	int epfd, timer, again;
	bool timer_on, again_on;
	uint64_t now;		/* of this poll or send */
	struct storm_drop drop;

	bool up;		/* all of the following is there */
	bool port_down;		/* ... and waits for its port */
	bool broken;		/* ... and must go */
	bool retrying;		/* the same errors are not logged again */
	uint64_t up_again;	/* when it is tried, 0: not */
	struct verbs_port port;
	uint32_t qkey;		/* of unicast */
	struct verbs_recv recv[VERBS_RECVS];
	bool logged_empty;
	struct verbs_send send[2];
	struct ibv_cq *send_cq;
	bool send_armed;

	struct rdma_event_channel *cm;
	struct rdma_cm_id *listener, *joiner;
	struct verbs_peers peers, by_addr[VERBS_BUCKETS],
			   by_qpn[2][VERBS_BUCKETS];
	uint32_t asking;	/* peers that are being asked */
	struct verbs_rests ready;	/* have waited for a peer */
	bool logged_silent;
	struct verbs_group *group;
	uint32_t groups, joins;	/* joins: under way */

	struct storm_verbs *strobe;	/* carries control; NULL: this does */
	struct storm_verbs *data;	/* of a strobe rail: the data rail */
	bool group_failed;	/* joins are to be tried again */
	uint64_t join_at;

	struct storm_verbs_stats stats;
};

/* verbs.c */
/* A warning, where UDP is a way on, otherwise an error; only for debugging, if
 * the same was logged before. */
void storm_verbs_log(struct storm_verbs *v, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Log what failed; errno has the reason.  Returns STORM_ESYS. */
int storm_verbs_fail(struct storm_verbs *v, const char *what);
/* A key of storm.conf by its name for this rail, of two names. */
const char *storm_verbs_key(const struct storm_verbs *v, const char *data,
			    const char *strobe);
/* Something has failed for good: the poll gives the device up when it ends. */
void storm_verbs_break(struct storm_verbs *v);
bool storm_verbs_working(const struct storm_verbs *v);
/* Poll when this descriptor is readable.  0 or -1. */
int storm_verbs_watch(struct storm_verbs *v, int fd, enum verbs_fd which);
void storm_verbs_again(struct storm_verbs *v);	/* poll again at once */
void storm_verbs_set_timer(struct storm_verbs *v, uint64_t ns);	/* 0: off */
void storm_verbs_timer(struct storm_verbs *v);	/* there is something to time */
struct sockaddr_in storm_verbs_sockaddr(const struct storm_addr *a);

/* verbs_device.c: STORM_OK, or an error that has been logged. */
/* The interface, where the settings name none: of the device that they name, or
 * of the fastest port that is active. */
int storm_verbs_choose(struct storm_verbs *v);
/* The device, port and partition that the connection manager found. */
int storm_verbs_port_open(struct storm_verbs *v,
			  const struct rdma_cm_id *id);
void storm_verbs_port_close(struct storm_verbs *v);
int storm_verbs_memory(struct storm_verbs *v, struct verbs_memory *m,
		       size_t len);
void storm_verbs_memory_free(struct verbs_memory *m);

/* verbs_cm.c */
int storm_verbs_cm_open(struct storm_verbs *v);	/* as far as a bound id */
int storm_verbs_cm_listen(struct storm_verbs *v);
void storm_verbs_cm_close(struct storm_verbs *v);
/* librdmacm keeps all devices open.  It closes those that are gone, or that
 * their driver releases, when it lists the devices. */
void storm_verbs_cm_forget(void);
/* Where this end is, for a peer. */
void storm_verbs_hello(const struct storm_verbs *v,
		       uint8_t out[VERBS_HELLO_LEN]);

/* verbs_peer.c */
/* The one at this address, which may have to be asked for.  NULL: no memory. */
struct verbs_peer *storm_verbs_peer(struct storm_verbs *v,
				    const struct storm_addr *to);
/* The same, if there is one already; does not ask for it. */
struct verbs_peer *storm_verbs_peer_find(struct storm_verbs *v,
					 const struct storm_addr *to);
/* One that is known by the one address and asked at the other. */
struct verbs_peer *storm_verbs_peer_at(struct storm_verbs *v,
				       const struct storm_addr *to,
				       const struct storm_addr *at);
/* All that are known may be elsewhere now: the next datagram to each asks
 * again. */
void storm_verbs_peers_doubt(struct storm_verbs *v);
/* It may be another one now. */
void storm_verbs_peer_doubt(struct storm_verbs *v,
			    const struct storm_addr *to);
void storm_verbs_peer_heard(struct storm_verbs *v, int class, uint32_t qpn,
			    const union ibv_gid *gid, uint16_t lid);
/* Keep it until the peer is known; 0 or -ENOBUFS. */
int storm_verbs_peer_keep(struct storm_verbs *v, struct verbs_peer *p,
			  enum storm_class c, const void *buf, size_t len,
			  size_t seg);
void storm_verbs_peer_event(struct storm_verbs *v,
			    struct rdma_cm_event *event);
void storm_verbs_peers_tick(struct storm_verbs *v);
void storm_verbs_peers_close(struct storm_verbs *v);

/* verbs_ud.c */
int storm_verbs_queues_open(struct storm_verbs *v);
void storm_verbs_queues_close(struct storm_verbs *v);
/* A queue pair that receives by the class's shared queue of groups.  NULL:
 * logged. */
struct ibv_qp *storm_verbs_group_qp(struct storm_verbs *v, enum storm_class c,
				    uint32_t qkey);
int storm_verbs_set_qkey(struct ibv_qp *qp, uint32_t qkey);
/* 0 or -EAGAIN: there is no room for all of it, and none was taken. */
bool storm_verbs_has_room(struct storm_verbs *v, enum storm_class c, size_t n);
int storm_verbs_post(struct storm_verbs *v, enum storm_class c,
		     const struct verbs_dest *d, const uint8_t *buf,
		     size_t len, size_t seg);
/* Take what was sent off the queues; where room is waited for, be woken. */
void storm_verbs_sent(struct storm_verbs *v);
void storm_verbs_await_room(struct storm_verbs *v);
/* From all queues in turn, so that control waits for two batches of bulk at
 * most.  Bounded; true: there may be more. */
bool storm_verbs_receive(struct storm_verbs *v);
/* Be woken by what comes from now on.  True: something came meanwhile. */
bool storm_verbs_arm(struct storm_verbs *v);

/* verbs_group.c */
bool storm_verbs_is_group(const struct storm_addr *a);
int storm_verbs_groups_open(struct storm_verbs *v);
void storm_verbs_groups_close(struct storm_verbs *v);
void storm_verbs_groups_free(struct storm_verbs *v);
void storm_verbs_group_event(struct storm_verbs *v,
			     const struct rdma_cm_event *event);
void storm_verbs_groups_tick(struct storm_verbs *v);
/* Where its datagrams go; false: it is not known (yet). */
bool storm_verbs_group_dest(struct storm_verbs *v,
			    const struct storm_addr *to, enum storm_class c,
			    struct verbs_dest *out);
/* A transport's group(). */
void storm_verbs_group_use(struct storm_transport *t,
			   const struct storm_addr *group, uint32_t qkey,
			   bool on);

/* verbs_event.c */
void storm_verbs_cm_events(struct storm_verbs *v);
void storm_verbs_port_events(struct storm_verbs *v);
/* What one of the device's events does; port: of those that are a port's. */
void storm_verbs_device_event(struct storm_verbs *v, enum ibv_event_type type,
			      int port);

/* verbs_send.c */
/* As the transport's send(), -EHOSTUNREACH: not by this rail. */
int storm_verbs_send_by(struct storm_verbs *v, enum storm_class c,
			const struct storm_addr *to, const void *buf,
			size_t len, size_t seg);
void storm_verbs_flush(struct storm_verbs *v);	/* what waits for room */
/* What has waited for a peer, and does so no more. */
void storm_verbs_send_ready(struct storm_verbs *v);
void storm_verbs_drop_waiting(struct storm_verbs *v);	/* both */

/* verbs_rail.c */
/* NULL: no memory, no random numbers. */
struct storm_verbs *storm_verbs_alloc(const struct storm_settings *set,
				      enum storm_role role,
				      const struct storm_net_handler *h);
int storm_verbs_open_fds(struct storm_verbs *v);
/* A rail may be named by the network interface that belongs to it. */
void storm_verbs_interface_for_device(struct storm_verbs *v);
/* All of it, or nothing: STORM_OK; STORM_EBUSY: another program has the
 * port. */
int storm_verbs_up(struct storm_verbs *v);
void storm_verbs_down(struct storm_verbs *v);
/* It did not come up: log once what is used instead, and try again later. */
void storm_verbs_without(struct storm_verbs *v);
void storm_verbs_try_again(struct storm_verbs *v);	/* if it is time */
/* An agent begins when its groups are joined, or it is clear that they won't
 * be. */
void storm_verbs_wait_for_joins(struct storm_verbs *v);

/* verbs_strobe.c */
/* Have one, if the settings name it: nothing depends on it. */
void storm_verbs_strobe_open(struct storm_verbs *v);
/* A control datagram; -EHOSTUNREACH: by the data rail. */
int storm_verbs_strobe_send(struct storm_verbs *v, const struct storm_addr *to,
			    const void *buf, size_t len, size_t seg);

#endif
