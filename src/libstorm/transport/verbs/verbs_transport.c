/*
 * verbs_transport.c - the transport over verbs as a whole: its operations, the
 * poll loop, its counters, and the driver "verbs" (driver.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "src/libstorm/base/addr.h"
#include "src/libstorm/base/clock.h"
#include "verbs_private.h"

#define EVENTS_PER_POLL 16
#define TICK_SLOW (2 * STORM_SEC)
#define OWNER_PORTS 8 /* tries */

/* -------------------------------------------------------------- operations */

static int verbs_transport_send(struct storm_transport *t, enum storm_class c,
				const struct storm_addr *to, const void *buf,
				size_t len, size_t seg)
{
	struct storm_verbs *v = (struct storm_verbs *) t;
	int rc = -EHOSTUNREACH;

	if (!len || !seg || !to->port)
		return -EINVAL;
	if (len > VERBS_SEND_MAX)
		return -EMSGSIZE;
	if (!storm_addr_is_v4(to))
		return -EAFNOSUPPORT;
	v->now = storm_now();
	if (seg > len)
		seg = len;
	if (c == STORM_CONTROL)
		rc = storm_verbs_strobe_send(v, to, buf, len, seg);
	return rc == -EHOSTUNREACH ?
		       storm_verbs_send_by(v, c, to, buf, len, seg) :
		       rc;
}

static int verbs_transport_send_stream(struct storm_transport *t,
				       const struct storm_addr *to,
				       uint64_t session, uint32_t node,
				       const void *buf, size_t len)
{
	struct storm_verbs *v = (struct storm_verbs *) t;

	/* datagrams will follow soon, and the peer may have restarted */
	v->now = storm_now();
	if (v->strobe)
		v->strobe->now = v->now;
	if (storm_verbs_working(v))
		storm_verbs_peer_doubt(v, to);
	if (v->strobe && storm_verbs_working(v->strobe) &&
	    storm_verbs_peer_find(v->strobe, to))
		storm_verbs_peer_doubt(v->strobe, to);
	return v->by_udp->ops->send_stream(v->by_udp, to, session, node, buf,
					   len);
}

static void verbs_transport_end_stream(struct storm_transport *t,
				       uint64_t stream, enum storm_err err)
{
	struct storm_verbs *v = (struct storm_verbs *) t;

	v->by_udp->ops->end_stream(v->by_udp, stream, err);
}

static struct storm_addr verbs_transport_stream_from(struct storm_transport *t,
						     uint64_t stream)
{
	struct storm_verbs *v = (struct storm_verbs *) t;

	return v->by_udp->ops->stream_from(v->by_udp, stream);
}

static bool verbs_transport_stream_waits(struct storm_transport *t,
					 uint64_t stream)
{
	struct storm_verbs *v = (struct storm_verbs *) t;

	return v->by_udp->ops->stream_waits(v->by_udp, stream);
}

static enum storm_stream verbs_transport_stream_state(struct storm_transport *t,
						      uint64_t session,
						      uint32_t node)
{
	struct storm_verbs *v = (struct storm_verbs *) t;

	return v->by_udp->ops->stream_state(v->by_udp, session, node);
}

static void verbs_transport_drop_streams(struct storm_transport *t,
					 uint64_t session)
{
	struct storm_verbs *v = (struct storm_verbs *) t;

	v->by_udp->ops->drop_streams(v->by_udp, session);
}

static size_t verbs_transport_mtu(struct storm_transport *t)
{
	struct storm_verbs *v = (struct storm_verbs *) t;

	return v->up ? v->port.mtu : v->by_udp->ops->mtu(v->by_udp);
}

/* Three quarters of a receive queue: other sessions need some of it. */
static size_t verbs_transport_room(struct storm_transport *t)
{
	struct storm_verbs *v = (struct storm_verbs *) t;

	return v->up ? (size_t) v->set.recv_depth * v->port.mtu / 4 * 3 :
		       SIZE_MAX;
}

static const struct storm_transport_ops verbs_ops = {
	.name = "verbs",
	.send = verbs_transport_send,
	.send_stream = verbs_transport_send_stream,
	.end_stream = verbs_transport_end_stream,
	.stream_waits = verbs_transport_stream_waits,
	.stream_from = verbs_transport_stream_from,
	.stream_state = verbs_transport_stream_state,
	.drop_streams = verbs_transport_drop_streams,
	.mtu = verbs_transport_mtu,
	.room = verbs_transport_room,
	.group = storm_verbs_group_use,
};

/* ------------------------------------------------------ received by UDP */

static void verbs_udp_datagrams(void *arg, struct storm_rx *rx, size_t n)
{
	struct storm_verbs *v = arg;

	if (!v->set.transport_fallback)
		return;
	v->stats.udp_rx_datagrams += n;
	v->h.datagrams(v->h.arg, rx, n);
}

static void verbs_udp_stream(void *arg, uint64_t stream, const void *buf,
			     size_t len)
{
	struct storm_verbs *v = arg;

	v->h.stream(v->h.arg, stream, buf, len);
}

static void verbs_udp_stream_failed(void *arg, uint64_t session, uint32_t node,
				    enum storm_err why, int sys)
{
	struct storm_verbs *v = arg;

	v->h.stream_failed(v->h.arg, session, node, why, sys);
}

/* -------------------------------------------------------------------- poll */

static void verbs_channel_events(struct storm_verbs *v)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(v->port.channel, &cq, &context)) {
		if (cq == v->send_cq)
			v->send_armed = false;
		for (int i = 0; i < VERBS_RECVS; i++)
			if (cq == v->recv[i].cq)
				v->recv[i].armed = false;
		ibv_ack_cq_events(cq, 1);
	}
}

static void verbs_timer_tick(struct storm_verbs *v)
{
	uint64_t n, period = 0;

	if (read(v->timer, &n, sizeof(n)) < 0)
		return;
	if (v->up) {
		storm_verbs_peers_tick(v);
		storm_verbs_groups_tick(v);
	}
	storm_verbs_try_again(v);
	v->timer_on = v->asking || v->group_failed;
	if (v->timer_on)
		period = VERBS_TICK_FAST;
	else if (v->up_again || !LIST_EMPTY(&v->peers))
		period = TICK_SLOW;
	storm_verbs_set_timer(v, period);
}

static void verbs_serve_event(struct storm_verbs *v, enum verbs_fd which)
{
	uint64_t n;

	switch (which) {
	case VERBS_FD_CHANNEL:
		verbs_channel_events(v);
		break;
	case VERBS_FD_CM:
		storm_verbs_cm_events(v);
		break;
	case VERBS_FD_ASYNC:
		storm_verbs_port_events(v);
		break;
	case VERBS_FD_UDP:
		storm_udp_poll(v->udp);
		break;
	case VERBS_FD_TIMER:
		verbs_timer_tick(v);
		break;
	case VERBS_FD_STROBE:
		storm_verbs_poll(v->strobe);
		break;
	case VERBS_FD_AGAIN:
		v->again_on = read(v->again, &n, sizeof(n)) < 0;
		break;
	}
}

/* Control first.  Queues are armed only when they are empty. */
static bool verbs_work_queues(struct storm_verbs *v)
{
	storm_verbs_sent(v);
	storm_verbs_flush(v);
	return storm_verbs_receive(v) || storm_verbs_arm(v);
}

void storm_verbs_poll(struct storm_verbs *v)
{
	struct epoll_event ev[EVENTS_PER_POLL];
	int n = epoll_wait(v->epfd, ev, EVENTS_PER_POLL, 0);

	v->now = storm_now();
	for (int i = 0; i < n && !v->broken; i++) {
		verbs_serve_event(v, (enum verbs_fd) ev[i].data.u32);
		storm_verbs_send_ready(v);
	}
	if (v->up && !v->broken && verbs_work_queues(v))
		storm_verbs_again(v);
	if (v->broken) {
		storm_verbs_down(v);
		storm_verbs_without(v);
	}
}

/* ------------------------------------------------------------------ create */

static int verbs_open_udp(struct storm_verbs *v, const struct storm_addr *peer)
{
	struct storm_settings set = v->set;
	const struct storm_net_handler h = {
		.datagrams = verbs_udp_datagrams,
		.stream = verbs_udp_stream,
		.stream_failed = verbs_udp_stream_failed,
		.arg = v,
	};
	int err;

	set.multicast &= set.transport_fallback;
	set.strobe_device[0] = 0; /* not UDP's */
	v->udp = storm_udp_create(&set, v->role, peer, &h, &err);
	if (!v->udp)
		return err;
	/* a packet of verbs may be larger than one of IPoIB */
	storm_udp_fragments(v->udp);
	v->by_udp = storm_udp_transport(v->udp);
	storm_udp_self(v->udp, &v->self);
	return STORM_OK;
}

/* Open UDP and verbs.  An owner takes any port that is free for both. */
static int verbs_open_both(struct storm_verbs *v, const struct storm_addr *peer)
{
	int rc;

	for (int i = 0; i < OWNER_PORTS; i++) {
		rc = verbs_open_udp(v, peer);
		if (rc)
			return rc;
		rc = storm_verbs_up(v);
		if (rc != STORM_EBUSY || v->role == STORM_ROLE_NODE)
			break;
		storm_udp_destroy(v->udp);
		v->udp = NULL;
	}
	if (rc == STORM_EBUSY)
		storm_verbs_log(v,
				"port %u of the connection manager is in "
				"use: is another agent running? Otherwise set "
				"Port in storm.conf",
				v->self.port);
	if (rc && v->udp && v->set.transport_fallback) {
		storm_verbs_without(v);
		rc = STORM_OK;
	}
	return rc;
}

static int verbs_open_all(struct storm_verbs *v, const struct storm_addr *peer)
{
	int rc = storm_verbs_open_fds(v);

	if (rc)
		return rc;
	storm_verbs_interface_for_device(v);
	/* an owner uses the rail that leads to its nodes */
	if (!v->set.interface[0] &&
	    (v->set.device[0] || v->role == STORM_ROLE_NODE)) {
		rc = storm_verbs_choose(v);
		if (rc && !v->set.transport_fallback)
			return rc;
	}
	rc = verbs_open_both(v, peer);
	if (!rc && storm_verbs_watch(v, storm_udp_fd(v->udp), VERBS_FD_UDP))
		rc = STORM_ESYS;
	return rc;
}

struct storm_verbs *storm_verbs_create(const struct storm_settings *set,
				       enum storm_role role,
				       const struct storm_addr *peer,
				       const struct storm_net_handler *h,
				       int *err)
{
	struct storm_verbs *v = storm_verbs_alloc(set, role, h);
	int rc = v ? verbs_open_all(v, peer) : STORM_ENOMEM;

	if (rc) {
		storm_verbs_destroy(v);
		*err = rc;
		return NULL;
	}
	v->transport.ops = &verbs_ops;
	storm_verbs_strobe_open(v);
	if (role == STORM_ROLE_NODE)
		storm_verbs_wait_for_joins(v);
	return v;
}

/* ---------------------------------------------------------------- counters */

struct storm_transport *storm_verbs_transport(struct storm_verbs *v)
{
	return &v->transport;
}

void storm_verbs_self(const struct storm_verbs *v, struct storm_addr *self)
{
	*self = v->self;
}

int storm_verbs_fd(const struct storm_verbs *v)
{
	return v->epfd;
}

void storm_verbs_stats(const struct storm_verbs *v,
		       struct storm_verbs_stats *out)
{
	struct storm_udp_stats u = { .dropped_by_test = 0 };

	if (v->udp)
		storm_udp_stats(v->udp, &u);
	*out = v->stats;
	out->dropped_by_test = v->drop.dropped + u.dropped_by_test;
	out->working = storm_verbs_working(v);
}

bool storm_verbs_strobe_stats(const struct storm_verbs *v,
			      struct storm_verbs_stats *out)
{
	if (v->strobe)
		storm_verbs_stats(v->strobe, out);
	return v->strobe;
}

/* Append a rail's counters to buf. */
static void verbs_rail_counters(const char *name, const struct storm_verbs *v,
				char *buf, size_t size)
{
	struct storm_verbs_stats s;
	size_t n = strlen(buf);

	storm_verbs_stats(v, &s);
#define F "\"%s\": %" PRIu64
#define V(field) #field, s.field
#define Q(field) #field, s.queue[STORM_CONTROL].field, s.queue[STORM_BULK].field
#define F2 "\"%s\": [%" PRIu64 ", %" PRIu64 "]"
	snprintf(buf + n, size - n,
		 ",\n \"%s\": {\"working\": %s, " F ", " F ", " F ", " F ", " F
		 ", " F ", " F ", " F ", " F ", " F ", " F ", " F ", " F ", " F
		 ", \"peers\": %u, \"peers_by_udp\": %u,\n"
		 "  " F2 ", " F2 ", " F2 ", " F2 ", " F2 ", " F2 ", " F2 "}",
		 name, s.working ? "true" : "false", V(tx_datagrams),
		 V(tx_bytes), V(tx_group), V(rx_datagrams), V(rx_bytes),
		 V(rx_group), V(tx_copied), V(udp_tx_datagrams),
		 V(udp_rx_datagrams), V(receives), V(own_copies),
		 V(send_errors), V(asked), V(answered), s.peers, s.peers_by_udp,
		 Q(sends), Q(completed), Q(full), Q(kept), Q(received),
		 Q(group), Q(empty));
#undef F2
#undef Q
#undef V
#undef F
}

/* ------------------------------------------------------------------ driver */

static struct storm_net *verbs_driver_create(const struct storm_settings *set,
					     enum storm_role role,
					     const struct storm_addr *peer,
					     const struct storm_net_handler *h,
					     int *err)
{
	return (struct storm_net *) storm_verbs_create(set, role, peer, h, err);
}

static void verbs_driver_destroy(struct storm_net *net)
{
	storm_verbs_destroy((struct storm_verbs *) net);
}

static struct storm_transport *verbs_driver_transport(struct storm_net *net)
{
	return storm_verbs_transport((struct storm_verbs *) net);
}

static void verbs_driver_self(const struct storm_net *net,
			      struct storm_addr *out)
{
	storm_verbs_self((const struct storm_verbs *) net, out);
}

static uint64_t verbs_driver_dropped(const struct storm_net *net)
{
	const struct storm_verbs *v = (const struct storm_verbs *) net;
	struct storm_verbs_stats s;

	storm_verbs_stats(v, &s);
	return s.dropped_by_test + (v->strobe ? v->strobe->drop.dropped : 0);
}

static void verbs_driver_drop(struct storm_net *net, uint32_t ppm,
			      uint64_t seed)
{
	struct storm_verbs *v = (struct storm_verbs *) net;

	v->drop.ppm = ppm;
	v->drop.state = seed;
	storm_udp_drop(v->udp, ppm, seed);
	if (v->strobe) {
		v->strobe->drop.ppm = ppm;
		v->strobe->drop.state = ~seed;
	}
}

static void verbs_driver_counters(const struct storm_net *net, char *buf,
				  size_t size)
{
	const struct storm_verbs *v = (const struct storm_verbs *) net;

	storm_udp_counters(v->udp, buf, size);
	verbs_rail_counters("verbs", v, buf, size);
	if (v->strobe)
		verbs_rail_counters("strobe_rail", v->strobe, buf, size);
}

static int verbs_driver_fd(const struct storm_net *net)
{
	return storm_verbs_fd((const struct storm_verbs *) net);
}

static void verbs_driver_poll(struct storm_net *net)
{
	storm_verbs_poll((struct storm_verbs *) net);
}

const struct storm_driver storm_driver_verbs = {
	.name = "verbs",
	.create = verbs_driver_create,
	.destroy = verbs_driver_destroy,
	.transport = verbs_driver_transport,
	.self = verbs_driver_self,
	.dropped = verbs_driver_dropped,
	.drop = verbs_driver_drop,
	.counters = verbs_driver_counters,
	.fd = verbs_driver_fd,
	.poll = verbs_driver_poll,
};
