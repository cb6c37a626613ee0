/*
 * udp.c - the transport over UDP: its sockets, their set-up, the poll loop.
 *
 * What carries the primitives of paper section 2.4.1 over a LAN.  An agent has
 *
 *	*:port		UDP	unicast in, control out
 *	*:any		UDP	bulk out
 *	group:port	UDP	one for each group of the pool, data in
 *	group:port	UDP	the same on the strobe rail, if there is one
 *	*:port		TCP	OPENs in
 *
 * and an owner the first two, on ports that the kernel chooses.  The strobe rail is
 * an interface that an owner sends its multicasts by; what is for one node goes by
 * the interface that leads there.  Bulk goes out
 * by a socket of its own because a send buffer full of it would otherwise
 * delay control.  A data socket is bound to its group, so it gets nothing else,
 * and the kernel can tell by it that super-packets are welcome.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "udp_private.h"

#define EVENTS_PER_POLL 64
#define GROUPS_MAX 64

/* Queueing disciplines that a super-packet passes on its way out. */
#define PRIORITY_BULK 2		/* TC_PRIO_BULK */
#define PRIORITY_CONTROL 6	/* TC_PRIO_INTERACTIVE */

/*
 * What fills a send buffer waits in the interface's queue, and a queue that
 * overflows drops without a word.  So this is no more than what any user gets
 * from Linux unasked: enough for the wire to be always busy (1 and 5 Gbit/s
 * shaped), and milliseconds of queue at 1 Gbit/s.  With 8 MiB a quarter of the
 * datagrams was lost there.
 */
#define SEND_BUFFER (208 * 1024)

int storm_udp_watch(struct storm_udp *u, int op, struct udp_src *src,
		    uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = src };

	return epoll_ctl(u->epfd, op, src->fd, &ev);
}

/* ------------------------------------------------------------- addresses */

static const uint8_t v4_prefix[12] = { [10] = 0xff, [11] = 0xff };

static bool is_v4(const struct storm_addr *a)
{
	return !memcmp(a->ip, v4_prefix, sizeof(v4_prefix));
}

bool storm_udp_sockaddr(struct storm_udp *u, const struct storm_addr *a,
			struct sockaddr_in *sin)
{
	char text[INET6_ADDRSTRLEN];

	if (!is_v4(a)) {
		if (!u->told_family)
			storm_log(STORM_LOG_ERROR, "%s: only IPv4 addresses "
				  "are supported; give the node one",
				  inet_ntop(AF_INET6, a->ip, text,
					    sizeof(text)));
		u->told_family = true;
		return false;
	}
	memset(sin, 0, sizeof(*sin));
	sin->sin_family = AF_INET;
	sin->sin_port = htons(a->port);
	memcpy(&sin->sin_addr, a->ip + 12, 4);
	return true;
}

void storm_udp_addr(struct storm_addr *a, struct in_addr ip, uint16_t port)
{
	memcpy(a->ip, v4_prefix, sizeof(v4_prefix));
	memcpy(a->ip + 12, &ip, 4);
	a->port = port;
}

/* --------------------------------------------------------------- sockets */

static int set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

/* Log what failed about a socket, errno saying why. */
static int refuse(const struct storm_udp *u, const char *what)
{
	storm_log(STORM_LOG_ERROR, "%s (interface %s, port %u): %m", what,
		  u->iface.name, u->port);
	return STORM_ESYS;
}

/* As much as asked, or as the system allows; what it came to. */
static size_t set_buffer(int fd, int force, int plain, size_t bytes)
{
	int value = bytes > INT32_MAX / 2 ? INT32_MAX / 2 : (int) bytes;
	socklen_t len = sizeof(value);

	if (setsockopt(fd, SOL_SOCKET, force, &value, len))
		setsockopt(fd, SOL_SOCKET, plain, &value, len);
	if (getsockopt(fd, SOL_SOCKET, plain, &value, &len))
		return 0;
	return value / 2;	/* the kernel doubles it, for its own needs */
}

static void receive_buffer(struct storm_udp *u, int fd)
{
	size_t got = set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF,
				u->set.socket_buffer);

	/* An owner receives little. */
	if (got >= u->set.socket_buffer || u->told_buffer ||
	    u->role != STORM_ROLE_NODE)
		return;
	u->told_buffer = true;
	storm_log(STORM_LOG_WARN, "receive buffers have %zu bytes, not %u: "
		  "raise the sysctl net.core.rmem_max, or lower SocketBuffer "
		  "in storm.conf", got, u->set.socket_buffer);
}

static int udp_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	/* Else every socket gets the groups that any socket joined. */
	if (fd >= 0)
		set_int(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
	return fd;
}

static int prepare_sender(struct storm_udp *u, int fd, int dscp, int priority)
{
	const struct udp_iface *by = u->has_rail ? &u->rail : &u->iface;
	struct ip_mreqn from = { .imr_address = by->addr,
				 .imr_ifindex = by->index };

	/* IP_TOS sets a priority of its own, so it comes first. */
	if (set_int(fd, IPPROTO_IP, IP_TOS, dscp << 2) ||
	    set_int(fd, SOL_SOCKET, SO_PRIORITY, priority))
		return refuse(u, "cannot set DSCP and priority");
	/* Fragments would be lost in bunches, and are no use to GSO. */
	if (set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO))
		return refuse(u, "cannot forbid fragments");
	/* Loop stays on: the owner may run on one of its nodes. */
	if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &from, sizeof(from)) ||
	    set_int(fd, IPPROTO_IP, IP_MULTICAST_TTL, u->set.ttl) ||
	    set_int(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 1))
		return refuse(u, "cannot direct multicast");
	set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, SEND_BUFFER);
	return STORM_OK;
}

static int bind_to(int fd, struct in_addr ip, uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(port), .sin_addr = ip };

	return bind(fd, (struct sockaddr *) &sin, sizeof(sin));
}

static int open_control(struct storm_udp *u)
{
	const struct in_addr any = { .s_addr = htonl(INADDR_ANY) };
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);
	int fd = udp_socket(), rc;

	u->tx[STORM_CONTROL].src.fd = fd;
	if (fd < 0)
		return refuse(u, "cannot create a UDP socket");
	/* Without SO_REUSEADDR, so that a second agent fails here. */
	if (bind_to(fd, any, u->port)) {
		if (errno != EADDRINUSE)
			return refuse(u, "cannot bind the UDP port");
		storm_log(STORM_LOG_ERROR, "UDP port %u is in use: is another "
			  "agent running? Otherwise set Port in storm.conf",
			  u->port);
		return STORM_ESYS;
	}
	if (getsockname(fd, (struct sockaddr *) &sin, &len))
		return refuse(u, "cannot ask for the UDP port");
	u->port = ntohs(sin.sin_port);
	rc = prepare_sender(u, fd, u->set.dscp_control, PRIORITY_CONTROL);
	if (rc)
		return rc;
	set_int(fd, SOL_UDP, UDP_GRO, 1);	/* relayed data */
	receive_buffer(u, fd);
	if (storm_udp_watch(u, EPOLL_CTL_ADD, &u->tx[STORM_CONTROL].src,
			    EPOLLIN))
		return refuse(u, "cannot watch a socket");
	return STORM_OK;
}

static int open_bulk(struct storm_udp *u)
{
	struct udp_src *src = &u->tx[STORM_BULK].src;
	socklen_t len = sizeof(int);
	int rc, seg;

	src->fd = udp_socket();
	if (src->fd < 0)
		return refuse(u, "cannot create a UDP socket");
	rc = prepare_sender(u, src->fd, u->set.dscp, PRIORITY_BULK);
	if (rc)
		return rc;
	/* It is for sending; nobody is told of its port. */
	set_int(src->fd, SOL_SOCKET, SO_RCVBUF, 0);
	u->gso = !getsockopt(src->fd, SOL_UDP, UDP_SEGMENT, &seg, &len);
	if (storm_udp_watch(u, EPOLL_CTL_ADD, src, 0))
		return refuse(u, "cannot watch a socket");
	return STORM_OK;
}

static int open_group(struct storm_udp *u, struct udp_src *src,
		      const struct udp_iface *at, struct in_addr group)
{
	struct ip_mreqn join = { .imr_multiaddr = group,
				 .imr_address = at->addr,
				 .imr_ifindex = at->index };
	char text[INET_ADDRSTRLEN];
	int fd = udp_socket();

	src->kind = at == &u->rail ? UDP_RAIL : UDP_GROUP;
	src->fd = fd;
	if (fd < 0)
		return refuse(u, "cannot create a UDP socket");
	/* Beside the control socket, which has all addresses of the port. */
	if (set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1) ||
	    bind_to(fd, group, u->port))
		return refuse(u, "cannot bind a multicast group");
	if (setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join,
		       sizeof(join))) {
		storm_log(STORM_LOG_ERROR, "cannot join group %s on interface "
			  "%s (%m): set Multicast=no, or another %s, in "
			  "storm.conf",
			  inet_ntop(AF_INET, &group, text, sizeof(text)),
			  at->name, at == &u->rail ? "StrobeRail" :
						     "Interface");
		return STORM_ESYS;
	}
	set_int(fd, SOL_UDP, UDP_GRO, 1);
	receive_buffer(u, fd);
	if (storm_udp_watch(u, EPOLL_CTL_ADD, src, EPOLLIN))
		return refuse(u, "cannot watch a socket");
	return STORM_OK;
}

static int open_groups_at(struct storm_udp *u, const struct udp_iface *at)
{
	struct in_addr group;
	uint32_t first, end = u->groups + u->set.groups;
	int rc = STORM_OK;

	memcpy(&first, u->set.group.ip + 12, 4);
	first = ntohl(first);
	for (; !rc && u->groups < end; first++) {
		group.s_addr = htonl(first);
		rc = open_group(u, &u->group[u->groups++], at, group);
	}
	return rc;
}

static int open_groups(struct storm_udp *u)
{
	int control = u->tx[STORM_CONTROL].src.fd, rc;
	uint32_t i;

	u->group = calloc(2 * u->set.groups, sizeof(*u->group));
	if (!u->group)
		return STORM_ENOMEM;
	set_int(control, SOL_SOCKET, SO_REUSEADDR, 1);
	rc = open_groups_at(u, &u->iface);
	if (!rc && u->has_rail)
		rc = open_groups_at(u, &u->rail);
	/* From here on nobody else can bind the port. */
	set_int(control, SOL_SOCKET, SO_REUSEADDR, 0);
	for (i = 0; i < u->groups; i++)
		set_int(u->group[i].fd, SOL_SOCKET, SO_REUSEADDR, 0);
	return rc;
}

/* Without one all goes by the interface.  A node that is not on it is not reached by
 * multicast, and the owner notices. */
static void find_rail(struct storm_udp *u)
{
	if (!u->set.strobe_device[0] || !u->set.multicast)
		return;
	if (storm_udp_iface_named(&u->set, u->set.strobe_device, "StrobeRail",
				  &u->rail)) {
		storm_log(STORM_LOG_WARN, "StrobeRail %s in storm.conf cannot "
			  "be used here", u->set.strobe_device);
		return;
	}
	u->has_rail = u->rail.index != u->iface.index;
	if (!u->has_rail)
		storm_log(STORM_LOG_INFO, "StrobeRail %s is the interface of "
			  "all else: there is one rail", u->rail.name);
}

/* ------------------------------------------------------ create, destroy */

static int check_settings(const struct storm_settings *set,
			  enum storm_role role,
			  const struct storm_addr *peer)
{
	uint8_t first = set->group.ip[12];
	char text[INET6_ADDRSTRLEN];

	if (peer && !is_v4(peer)) {
		inet_ntop(AF_INET6, peer->ip, text, sizeof(text));
		storm_log(STORM_LOG_ERROR, "%s: only IPv4 addresses are "
			  "supported; give the node one", text);
		return STORM_EINVAL;
	}
	if (set->dscp > 63 || set->dscp_control > 63) {
		storm_log(STORM_LOG_ERROR, "DSCP %u or ControlDSCP %u is above "
			  "63", set->dscp, set->dscp_control);
		return STORM_EINVAL;
	}
	if (set->mtu && set->mtu < 576) {
		storm_log(STORM_LOG_ERROR, "MTU %u is below 576, the least "
			  "that IPv4 allows", set->mtu);
		return STORM_EINVAL;
	}
	if (role != STORM_ROLE_NODE || !set->multicast)
		return STORM_OK;
	if (!set->groups || set->groups > GROUPS_MAX) {
		storm_log(STORM_LOG_ERROR, "GroupCount %u is not 1 to %u",
			  set->groups, GROUPS_MAX);
		return STORM_EINVAL;
	}
	if (!is_v4(&set->group) || first < 224 || first > 239) {
		inet_ntop(AF_INET6, set->group.ip, text, sizeof(text));
		storm_log(STORM_LOG_ERROR, "GroupBase %s is not an IPv4 "
			  "multicast address (224.0.0.0 to 239.255.255.255)",
			  text);
		return STORM_EINVAL;
	}
	return STORM_OK;
}

static int open_all(struct storm_udp *u, const struct storm_addr *peer)
{
	int rc;

	u->epfd = epoll_create1(EPOLL_CLOEXEC);
	u->timer.fd = timerfd_create(CLOCK_MONOTONIC,
				     TFD_NONBLOCK | TFD_CLOEXEC);
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
		find_rail(u);
		rc = open_control(u);
	}
	if (!rc)
		rc = open_bulk(u);
	if (!rc && u->role == STORM_ROLE_NODE && u->set.multicast)
		rc = open_groups(u);
	if (!rc && u->role == STORM_ROLE_NODE)
		rc = storm_udp_listen(u);
	return rc;
}

static size_t udp_mtu(struct storm_transport *t)
{
	const struct storm_udp *u = (const struct storm_udp *) t;
	size_t mtu = u->iface.mtu;

	if (u->set.mtu && u->set.mtu < mtu)
		mtu = u->set.mtu;
	/* an owner's multicasts take the rail */
	if (u->has_rail && u->role == STORM_ROLE_OWNER) {
		if (u->rail.mtu < mtu)
			mtu = u->rail.mtu;
		if (u->set.strobe_mtu && u->set.strobe_mtu < mtu)
			mtu = u->set.strobe_mtu;
	}
	mtu -= UDP_IP_HEADERS;
	return mtu < UDP_PAYLOAD_MAX ? mtu : UDP_PAYLOAD_MAX;
}

static const struct storm_transport_ops udp_ops = {
	.name = "udp",
	.send = storm_udp_send,
	.send_stream = storm_udp_send_stream,
	.end_stream = storm_udp_end_stream,
	.stream_waits = storm_udp_stream_waits,
	.drop_streams = storm_udp_drop_streams,
	.mtu = udp_mtu,
};

struct storm_udp *storm_udp_create(const struct storm_settings *set,
				   enum storm_role role,
				   const struct storm_addr *peer,
				   const struct storm_net_handler *h,
				   int *err)
{
	struct storm_udp *u;
	int rc = check_settings(set, role, peer);

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
	/* No owner has more under way. */
	if (role == STORM_ROLE_NODE)
		u->tx[STORM_BULK].room = set->window;
	TAILQ_INIT(&u->in);
	TAILQ_INIT(&u->out);
	storm_udp_drop(u, set->drop_ppm, set->drop_seed);
	rc = open_all(u, peer);
	if (rc) {
		storm_udp_destroy(u);
		*err = rc;
		return NULL;
	}
	return u;
}

static void close_fd(int fd)
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
	close_fd(u->listener.fd);
	for (i = 0; i < u->groups; i++)
		close_fd(u->group[i].fd);
	free(u->group);
	for (i = 0; i < 2; i++) {
		close_fd(u->tx[i].src.fd);
		storm_udp_tx_fini(&u->tx[i]);
	}
	close_fd(u->timer.fd);
	close_fd(u->epfd);
	storm_udp_rx_fini(u);
	free(u);
	errno = keep;
}

/* ------------------------------------------------------------------- use */

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
}

void storm_udp_fragments(struct storm_udp *u)
{
	for (int i = 0; i < 2; i++)
		set_int(u->tx[i].src.fd, IPPROTO_IP, IP_MTU_DISCOVER,
			IP_PMTUDISC_DONT);
}

/* Read the pending error of a socket, or epoll reports it for ever. */
static void clear_error(int fd)
{
	socklen_t len = sizeof(int);
	int err;

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
}

static void serve(struct storm_udp *u, struct udp_src *src, uint32_t events)
{
	uint64_t before;

	switch (src->kind) {
	case UDP_TX_BULK:
	case UDP_CONTROL:
		if (events & EPOLLERR)
			clear_error(src->fd);
		if (events & EPOLLOUT)
			storm_udp_writable(u, (struct udp_tx *) src);
		if (events & EPOLLIN)
			storm_udp_receive(u, src->fd, false);
		break;
	case UDP_RAIL:
	case UDP_GROUP:
		if (events & EPOLLERR)
			clear_error(src->fd);
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

			/* NULL: served, and perhaps freed */
			if (!src || src->kind != kind)
				continue;
			ev[i].data.ptr = NULL;
			serve(u, src, ev[i].events);
		}
	}
}

/* What the kernel dropped because the socket's buffer was full. */
static uint64_t overflows(int fd)
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
	out->socket_overflows = overflows(u->tx[STORM_CONTROL].src.fd);
	for (i = 0; i < u->groups; i++)
		out->socket_overflows += overflows(u->group[i].fd);
}

void storm_udp_counters(const struct storm_udp *u, char *buf, size_t size)
{
	struct storm_udp_stats s;

	storm_udp_stats(u, &s);
#define F "\"%s\": %" PRIu64
#define U(field) #field, s.field
	snprintf(buf, size, "\"udp\": {" F ", " F ", " F ", " F ", " F ", " F
		 ", " F ", " F ", " F ", " F ", " F ", " F ", " F "}",
		 U(tx_datagrams), U(tx_bytes), U(tx_calls), U(rx_datagrams),
		 U(rx_bytes), U(rx_calls), U(rx_rail), U(eagain), U(send_errors),
		 U(dropped_by_test), U(socket_overflows), U(streams_in),
		 U(streams_refused));
#undef U
#undef F
}
