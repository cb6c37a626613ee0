/*
 * udp_transport.c - the transport over UDP as a whole: its operations, the poll
 * loop, its counters, and the driver "udp" (driver.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "src/libstorm/base/addr.h"
#include "src/libstorm/base/minmax.h"
#include "udp_private.h"

#define EVENTS_PER_POLL 64
#define GROUPS_MAX 64

/* ------------------------------------------------------ create, destroy */

static int udp_check_settings(const struct storm_settings *set,
			      enum storm_role role,
			      const struct storm_addr *peer)
{
	uint8_t first = set->group.ip[12];
	char text[INET6_ADDRSTRLEN];

	if (peer && !storm_addr_is_v4(peer)) {
		inet_ntop(AF_INET6, peer->ip, text, sizeof(text));
		storm_log(STORM_LOG_ERROR,
			  "%s: only IPv4 addresses are "
			  "supported; give the node one",
			  text);
		return STORM_EINVAL;
	}
	if (set->dscp > 63 || set->dscp_control > 63) {
		storm_log(STORM_LOG_ERROR,
			  "DSCP %u or ControlDSCP %u is above "
			  "63",
			  set->dscp, set->dscp_control);
		return STORM_EINVAL;
	}
	if (set->mtu && set->mtu < 576) {
		storm_log(STORM_LOG_ERROR,
			  "MTU %u is below 576, the least "
			  "that IPv4 allows",
			  set->mtu);
		return STORM_EINVAL;
	}
	if (role != STORM_ROLE_NODE || !set->multicast)
		return STORM_OK;
	if (!set->groups || set->groups > GROUPS_MAX) {
		storm_log(STORM_LOG_ERROR, "GroupCount %u is not 1 to %u",
			  set->groups, GROUPS_MAX);
		return STORM_EINVAL;
	}
	if (!storm_addr_is_v4(&set->group) || first < 224 || first > 239) {
		inet_ntop(AF_INET6, set->group.ip, text, sizeof(text));
		storm_log(STORM_LOG_ERROR,
			  "GroupBase %s is not an IPv4 "
			  "multicast address (224.0.0.0 to 239.255.255.255)",
			  text);
		return STORM_EINVAL;
	}
	return STORM_OK;
}

static int udp_open_all(struct storm_udp *u, const struct storm_addr *peer)
{
	int rc;

	u->epfd = epoll_create1(EPOLL_CLOEXEC);
	u->timer.fd =
		timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (u->epfd < 0 || u->timer.fd < 0 ||
	    storm_udp_watch(u, EPOLL_CTL_ADD, &u->timer, EPOLLIN)) {
		storm_log(STORM_LOG_ERROR, "cannot create an epoll or timer "
					   "descriptor: %m");
		return STORM_ESYS;
	}
	if (storm_udp_rx_init(u))
		return STORM_ENOMEM;
	rc = storm_udp_iface(&u->set, peer, &u->iface);
	if (!rc) {
		storm_udp_find_rail(u);
		rc = storm_udp_open_control(u);
	}
	if (!rc)
		rc = storm_udp_open_bulk(u);
	if (!rc && u->role == STORM_ROLE_NODE && u->set.multicast)
		rc = storm_udp_open_groups(u);
	if (!rc && u->role == STORM_ROLE_NODE)
		rc = storm_udp_listen(u);
	return rc;
}

static size_t udp_transport_mtu(struct storm_transport *t)
{
	const struct storm_udp *u = (const struct storm_udp *) t;
	size_t mtu = u->iface.mtu;

	if (u->set.mtu && u->set.mtu < mtu)
		mtu = u->set.mtu;
	/* an owner sends multicasts over the rail */
	if (u->has_rail && u->role == STORM_ROLE_OWNER) {
		if (u->rail.mtu < mtu)
			mtu = u->rail.mtu;
		if (u->set.strobe_mtu && u->set.strobe_mtu < mtu)
			mtu = u->set.strobe_mtu;
	}
	mtu -= UDP_IP_HEADERS;
	return storm_min(mtu, UDP_PAYLOAD_MAX);
}

static const struct storm_transport_ops udp_ops = {
	.name = "udp",
	.send = storm_udp_send,
	.send_stream = storm_udp_send_stream,
	.end_stream = storm_udp_end_stream,
	.stream_waits = storm_udp_stream_waits,
	.stream_from = storm_udp_stream_from,
	.stream_state = storm_udp_stream_state,
	.drop_streams = storm_udp_drop_streams,
	.mtu = udp_transport_mtu,
	.join_again = storm_udp_join_again,
};

struct storm_udp *storm_udp_create(const struct storm_settings *set,
				   enum storm_role role,
				   const struct storm_addr *peer,
				   const struct storm_net_handler *h, int *err)
{
	struct storm_udp *u;
	int rc = udp_check_settings(set, role, peer);

	if (rc) {
		errno = EINVAL;
		*err = rc;
		return NULL;
	}
	u = calloc(1, sizeof(*u));
	if (!u) {
		*err = STORM_ENOMEM;
		return NULL;
	}
	u->transport.ops = &udp_ops;
	u->set = *set;
	u->role = role;
	u->h = *h;
	u->port = role == STORM_ROLE_NODE ? set->port : 0;
	u->tx[STORM_CONTROL].src.kind = UDP_CONTROL;
	u->tx[STORM_BULK].src.kind = UDP_TX_BULK;
	u->timer.kind = UDP_TIMER;
	u->tx[STORM_CONTROL].src.fd = u->tx[STORM_BULK].src.fd = -1;
	u->epfd = u->timer.fd = u->listener.fd = -1;
	TAILQ_INIT(&u->tx[STORM_CONTROL].rests);
	TAILQ_INIT(&u->tx[STORM_BULK].rests);
	/* no owner has more than that in flight */
	if (role == STORM_ROLE_NODE)
		u->tx[STORM_BULK].room = set->window;
	TAILQ_INIT(&u->in);
	TAILQ_INIT(&u->out);
	storm_udp_drop(u, set->drop_ppm, set->drop_seed);
	rc = udp_open_all(u, peer);
	if (rc) {
		storm_udp_destroy(u);
		*err = rc;
		return NULL;
	}
	return u;
}

static void udp_close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void storm_udp_destroy(struct storm_udp *u)
{
	int keep = errno;
	uint32_t i;

	if (!u)
		return;
	storm_udp_streams_fini(u);
	storm_udp_strobe_close(u);
	storm_udp_pulse_close(u);
	udp_close_fd(u->listener.fd);
	for (i = 0; i < u->groups; i++)
		udp_close_fd(u->group[i].fd);
	free(u->group);
	free(u->group_addr);
	free(u->session);
	for (i = 0; i < 2; i++) {
		udp_close_fd(u->tx[i].src.fd);
		storm_udp_tx_fini(&u->tx[i]);
	}
	udp_close_fd(u->timer.fd);
	udp_close_fd(u->epfd);
	storm_udp_rx_fini(u);
	free(u);
	errno = keep;
}

/* ------------------------------------------------------------------ poll */

struct storm_transport *storm_udp_transport(struct storm_udp *u)
{
	return &u->transport;
}

void storm_udp_self(const struct storm_udp *u, struct storm_addr *self)
{
	storm_udp_addr(self, u->iface.addr, u->port);
}

int storm_udp_fd(const struct storm_udp *u)
{
	return u->epfd;
}

void storm_udp_drop(struct storm_udp *u, uint32_t ppm, uint64_t seed)
{
	u->drop.ppm = ppm;
	u->drop.state = seed;
	storm_udp_strobe_drop(u, ppm, ~seed);
	storm_udp_pulse_drop(u, ppm);
}

/* Read the pending error of a socket; otherwise epoll reports it forever. */
static void udp_clear_error(int fd)
{
	socklen_t len = sizeof(int);
	int err;

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
}

static void udp_serve_event(struct storm_udp *u, struct udp_src *src,
			    uint32_t events)
{
	uint64_t before;

	switch (src->kind) {
	case UDP_TX_BULK:
	case UDP_CONTROL:
		if (events & EPOLLERR)
			udp_clear_error(src->fd);
		if (events & EPOLLOUT)
			storm_udp_writable(u, (struct udp_tx *) src);
		if (events & EPOLLIN)
			storm_udp_receive(u, src->fd, false);
		break;
	case UDP_RAIL:
	case UDP_GROUP:
		if (events & EPOLLERR)
			udp_clear_error(src->fd);
		before = u->stats.rx_datagrams;
		storm_udp_receive(u, src->fd, true);
		if (src->kind == UDP_RAIL)
			u->stats.rx_rail += u->stats.rx_datagrams - before;
		break;
	case UDP_STREAM_OUT:
		storm_udp_stream_out(u, (struct udp_stream_out *) src);
		break;
	case UDP_STREAM_IN:
		storm_udp_stream_in(u, (struct udp_stream_in *) src);
		break;
	case UDP_LISTENER:
		storm_udp_accept(u);
		break;
	case UDP_TIMER:
		storm_udp_stream_timer(u);
		break;
	case UDP_KINDS:
		break;
	}
}

void storm_udp_poll(struct storm_udp *u)
{
	struct epoll_event ev[EVENTS_PER_POLL];
	enum udp_kind kind;
	int i, n;

	n = epoll_wait(u->epfd, ev, EVENTS_PER_POLL, 0);
	for (kind = 0; n > 0 && kind < UDP_KINDS; kind++) {
		for (i = 0; i < n; i++) {
			struct udp_src *src = ev[i].data.ptr;

			/* NULL: served already, and perhaps freed */
			if (!src || src->kind != kind)
				continue;
			ev[i].data.ptr = NULL;
			udp_serve_event(u, src, ev[i].events);
		}
	}
}

/* Datagrams that came for a socket and that the kernel did not give to it.  The kernel
 * has one counter for a full buffer, a refusal by the socket's filter, and a wrong
 * checksum. */
static uint64_t udp_socket_drops(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len))
		return 0;
	return info[SK_MEMINFO_DROPS];
}

void storm_udp_stats(const struct storm_udp *u, struct storm_udp_stats *out)
{
	uint32_t i;

	*out = u->stats;
	out->dropped_by_test = u->drop.dropped;
	out->socket_drops = udp_socket_drops(u->tx[STORM_CONTROL].src.fd);
	for (i = 0; i < u->groups; i++)
		out->socket_drops += udp_socket_drops(u->group[i].fd);
	storm_udp_strobe_count(u, out);
	storm_udp_pulse_count(u, out);
}

void storm_udp_counters(const struct storm_udp *u, char *buf, size_t size)
{
	struct storm_udp_stats s;

	storm_udp_stats(u, &s);
#define F "\"%s\": %" PRIu64
#define U(field) #field, s.field
	snprintf(buf, size,
		 "\"udp\": {" F ", " F ", " F ", " F ", " F ", " F ", " F ", " F
		 ", " F ", " F ", " F ", " F ", " F "}",
		 U(tx_datagrams), U(tx_bytes), U(tx_calls), U(rx_datagrams),
		 U(rx_bytes), U(rx_calls), U(rx_rail), U(eagain),
		 U(send_errors), U(dropped_by_test), U(socket_drops),
		 U(streams_in), U(streams_refused));
#undef U
#undef F
}

/* ---------------------------------------------------------------- driver */

static struct storm_net *udp_driver_create(const struct storm_settings *set,
					   enum storm_role role,
					   const struct storm_addr *peer,
					   const struct storm_net_handler *h,
					   int *err)
{
	return (struct storm_net *) storm_udp_create(set, role, peer, h, err);
}

static void udp_driver_destroy(struct storm_net *net)
{
	storm_udp_destroy((struct storm_udp *) net);
}

static struct storm_transport *udp_driver_transport(struct storm_net *net)
{
	return storm_udp_transport((struct storm_udp *) net);
}

static void udp_driver_self(const struct storm_net *net, struct storm_addr *out)
{
	storm_udp_self((const struct storm_udp *) net, out);
}

static uint64_t udp_driver_dropped(const struct storm_net *net)
{
	struct storm_udp_stats u;

	storm_udp_stats((const struct storm_udp *) net, &u);
	return u.dropped_by_test;
}

static void udp_driver_drop(struct storm_net *net, uint32_t ppm, uint64_t seed)
{
	storm_udp_drop((struct storm_udp *) net, ppm, seed);
}

static void udp_driver_counters(const struct storm_net *net, char *buf,
				size_t size)
{
	storm_udp_counters((const struct storm_udp *) net, buf, size);
}

static int udp_driver_fd(const struct storm_net *net)
{
	return storm_udp_fd((const struct storm_udp *) net);
}

static void udp_driver_poll(struct storm_net *net)
{
	storm_udp_poll((struct storm_udp *) net);
}

const struct storm_driver storm_driver_udp = {
	.name = "udp",
	.create = udp_driver_create,
	.destroy = udp_driver_destroy,
	.transport = udp_driver_transport,
	.self = udp_driver_self,
	.dropped = udp_driver_dropped,
	.drop = udp_driver_drop,
	.counters = udp_driver_counters,
	.fd = udp_driver_fd,
	.poll = udp_driver_poll,
	.strobe = &storm_udp_strobe_ops,
	.pulse = &storm_udp_pulse_ops,
	.admit = storm_udp_admit,
};
