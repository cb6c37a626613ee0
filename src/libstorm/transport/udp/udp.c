/*
 * udp.c - addresses and sockets of the UDP transport, and their options.
 *
 * The transport carries the primitives of paper section 2.4.1 over a LAN.  An
 * agent has
 *
 *	*:port		UDP	unicast in, control out
 *	*:any		UDP	bulk out
 *	group:port	UDP	one for each group of the pool, data in
 *	group:port	UDP	the same on the strobe rail, if there is one
 *	*:port		UDP	strobes, if a thread reads them (udp_strobe.c)
 *	*:port		TCP	OPENs in (udp_stream.c)
 *
 * and an owner has the first two, on ports that the kernel chooses.  An owner
 * sends multicasts over the strobe rail; datagrams for one node follow the
 * route to it.  Bulk data have a socket of their own, because a send buffer
 * full of them would delay control.  A group's socket is bound to the group.
 * So it receives nothing else, and the kernel may pass super-packets to it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "src/libstorm/base/addr.h"
#include "udp_port.h"
#include "udp_private.h"

/* Priorities for the interface's queueing discipline. */
#define PRIORITY_BULK 2	   /* TC_PRIO_BULK */
#define PRIORITY_CONTROL 6 /* TC_PRIO_INTERACTIVE */

/*
 * The send buffer's bytes wait in the interface's queue, and a queue that
 * overflows drops silently.  So this is Linux's default for any user.  It keeps
 * the wire busy (measured at 1 and 5 Gbit/s, shaped), and is milliseconds of
 * queue at 1 Gbit/s.  With 8 MiB a quarter of the datagrams was lost there.
 */
#define SEND_BUFFER (208 * 1024)

int storm_udp_watch(struct storm_udp *u, int op, struct udp_src *src,
		    uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = src };

	return epoll_ctl(u->epfd, op, src->fd, &ev);
}

void storm_udp_unwatch_close(struct storm_udp *u, int fd)
{
	epoll_ctl(u->epfd, EPOLL_CTL_DEL, fd, NULL);
	shutdown(fd, SHUT_RDWR);
	close(fd);
}

/* ------------------------------------------------------------- addresses */

static const uint8_t v4_prefix[12] = { [10] = 0xff, [11] = 0xff };

bool storm_udp_sockaddr(struct storm_udp *u, const struct storm_addr *a,
			struct sockaddr_in *sin)
{
	char text[INET6_ADDRSTRLEN];

	if (!storm_addr_is_v4(a)) {
		if (!u->logged_family)
			storm_log(STORM_LOG_ERROR,
				  "%s: only IPv4 addresses "
				  "are supported; give the node one",
				  inet_ntop(AF_INET6, a->ip, text,
					    sizeof(text)));
		u->logged_family = true;
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

int storm_udp_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

/* Log what failed; errno has the reason. */
static int udp_socket_failed(const struct storm_udp *u, const char *what)
{
	storm_log(STORM_LOG_ERROR, "%s (interface %s, port %u): %m", what,
		  u->iface.name, u->port);
	return STORM_ESYS;
}

/* Set a buffer to bytes, or to the system's limit; returns its size in
 * bytes. */
static size_t udp_set_buffer(int fd, int force, int plain, size_t bytes)
{
	int value = bytes > INT32_MAX / 2 ? INT32_MAX / 2 : (int) bytes;
	socklen_t len = sizeof(value);

	if (setsockopt(fd, SOL_SOCKET, force, &value, len))
		setsockopt(fd, SOL_SOCKET, plain, &value, len);
	if (getsockopt(fd, SOL_SOCKET, plain, &value, &len))
		return 0;
	return value / 2; /* the kernel doubles it for its bookkeeping */
}

static void udp_set_receive_buffer(struct storm_udp *u, int fd)
{
	/* the limit is the host's: logged once in a process of many nodes */
	static atomic_flag logged = ATOMIC_FLAG_INIT;
	size_t got = udp_set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF,
				    u->set.socket_buffer);

	/* An owner receives little. */
	if (got >= u->set.socket_buffer || u->role != STORM_ROLE_NODE ||
	    atomic_flag_test_and_set(&logged))
		return;
	storm_log(STORM_LOG_WARN,
		  "receive buffers have %zu bytes, not %u: "
		  "raise the sysctl net.core.rmem_max, or lower socket_buffer "
		  "(SocketBuffer in storm.conf)",
		  got, u->set.socket_buffer);
}

int storm_udp_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	/* Otherwise each socket receives the groups that any socket joined. */
	if (fd < 0)
		return -1;
	storm_udp_option(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
	/* an agent that ended under a flood has left a filter (udp_strobe.c) */
	storm_udp_option(fd, SOL_SOCKET, SO_DETACH_FILTER, 0);
	return fd;
}

static int udp_prepare_sender(struct storm_udp *u, int fd, int dscp,
			      int priority)
{
	const struct udp_iface *by = u->has_rail ? &u->rail : &u->iface;
	struct ip_mreqn from = { .imr_address = by->addr,
				 .imr_ifindex = by->index };

	/* IP_TOS sets a priority of its own, so it comes first. */
	if (storm_udp_option(fd, IPPROTO_IP, IP_TOS, dscp << 2) ||
	    storm_udp_option(fd, SOL_SOCKET, SO_PRIORITY, priority))
		return udp_socket_failed(u, "cannot set DSCP and priority");
	/* One lost fragment loses its datagram, and GSO needs whole packets. */
	if (storm_udp_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO))
		return udp_socket_failed(u, "cannot forbid fragments");
	/* Loop stays on: the owner's host may be one of its nodes. */
	if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &from, sizeof(from)) ||
	    storm_udp_option(fd, IPPROTO_IP, IP_MULTICAST_TTL, u->set.ttl) ||
	    storm_udp_option(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 1))
		return udp_socket_failed(u, "cannot set multicast options");
	udp_set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, SEND_BUFFER);
	return STORM_OK;
}

int storm_udp_control(struct storm_udp *u, int fd)
{
	return udp_prepare_sender(u, fd, u->set.dscp_control, PRIORITY_CONTROL);
}

int storm_udp_bind(int fd, struct in_addr ip, uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(port),
				   .sin_addr = ip };

	return bind(fd, (struct sockaddr *) &sin, sizeof(sin));
}

/* The bound socket that the parent keeps; -1: none. */
static int udp_take_inherited(const struct storm_udp *u)
{
	int fd = u->role == STORM_ROLE_NODE ?
			 storm_udp_port_inherited(SOCK_DGRAM, u->port) :
			 -1;

	if (fd < 0)
		return -1;
	storm_udp_option(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
	/* an agent that ended under a flood has left a filter (udp_strobe.c) */
	storm_udp_option(fd, SOL_SOCKET, SO_DETACH_FILTER, 0);
	return fd;
}

int storm_udp_open_control(struct storm_udp *u)
{
	const struct in_addr any = { .s_addr = htonl(INADDR_ANY) };
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);
	int fd = udp_take_inherited(u), rc;
	bool inherited = fd >= 0;

	if (!inherited)
		fd = storm_udp_socket();
	u->tx[STORM_CONTROL].src.fd = fd;
	if (fd < 0)
		return udp_socket_failed(u, "cannot create a UDP socket");
	/* Without SO_REUSEADDR, so that a second agent fails here. */
	if (!inherited && storm_udp_bind(fd, any, u->port)) {
		char holder[128];

		if (errno != EADDRINUSE)
			return udp_socket_failed(u, "cannot bind the UDP port");
		storm_udp_port_holder(u->port, holder, sizeof(holder));
		errno = EADDRINUSE;
		storm_log(STORM_LOG_ERROR,
			  "UDP port %u is in use by %s: end "
			  "it, or set another Port in storm.conf",
			  u->port, holder);
		return STORM_ESYS;
	}
	if (getsockname(fd, (struct sockaddr *) &sin, &len))
		return udp_socket_failed(u, "cannot read the bound UDP port");
	u->port = ntohs(sin.sin_port);
	rc = storm_udp_control(u, fd);
	if (rc)
		return rc;
	if (u->role == STORM_ROLE_NODE)
		storm_udp_option(fd, SOL_UDP, UDP_GRO, 1); /* relayed data */
	udp_set_receive_buffer(u, fd);
	if (storm_udp_watch(u, EPOLL_CTL_ADD, &u->tx[STORM_CONTROL].src,
			    EPOLLIN))
		return udp_socket_failed(u, "cannot watch a socket");
	return STORM_OK;
}

int storm_udp_open_bulk(struct storm_udp *u)
{
	struct udp_src *src = &u->tx[STORM_BULK].src;
	socklen_t len = sizeof(int);
	int rc, seg;

	src->fd = storm_udp_socket();
	if (src->fd < 0)
		return udp_socket_failed(u, "cannot create a UDP socket");
	rc = udp_prepare_sender(u, src->fd, u->set.dscp, PRIORITY_BULK);
	if (rc)
		return rc;
	/* It only sends; no other host knows its port. */
	storm_udp_option(src->fd, SOL_SOCKET, SO_RCVBUF, 0);
	u->gso = !getsockopt(src->fd, SOL_UDP, UDP_SEGMENT, &seg, &len);
	if (storm_udp_watch(u, EPOLL_CTL_ADD, src, 0))
		return udp_socket_failed(u, "cannot watch a socket");
	return STORM_OK;
}

static int udp_open_group(struct storm_udp *u, struct udp_src *src,
			  const struct udp_iface *at, struct in_addr group)
{
	char text[INET_ADDRSTRLEN];
	int fd = storm_udp_socket();

	src->kind = at == &u->rail ? UDP_RAIL : UDP_GROUP;
	src->fd = fd;
	if (fd < 0)
		return udp_socket_failed(u, "cannot create a UDP socket");
	/* Shares the port with the control socket, bound to any address.  With
	 * SO_REUSEADDR other users could share it, too. */
	if (storm_udp_option(fd, SOL_SOCKET, SO_REUSEPORT, 1) ||
	    storm_udp_bind(fd, group, u->port))
		return udp_socket_failed(u, "cannot bind a multicast group");
	if (storm_udp_membership(fd, at, group, IP_ADD_MEMBERSHIP)) {
		storm_log(STORM_LOG_ERROR,
			  "cannot join group %s on interface "
			  "%s (%m): set Multicast=no, or another %s, in "
			  "storm.conf",
			  inet_ntop(AF_INET, &group, text, sizeof(text)),
			  at->name,
			  at == &u->rail ? "StrobeRail" : "Interface");
		return STORM_ESYS;
	}
	storm_udp_option(fd, SOL_UDP, UDP_GRO, 1);
	udp_set_receive_buffer(u, fd);
	if (storm_udp_watch(u, EPOLL_CTL_ADD, src, EPOLLIN))
		return udp_socket_failed(u, "cannot watch a socket");
	return STORM_OK;
}

static int udp_open_groups_at(struct storm_udp *u, const struct udp_iface *at)
{
	struct in_addr group;
	uint32_t first, end = u->groups + u->set.groups;
	int rc = STORM_OK;

	memcpy(&first, u->set.group.ip + 12, 4);
	first = ntohl(first);
	for (; !rc && u->groups < end; first++) {
		group.s_addr = htonl(first);
		u->group_addr[u->groups] = group;
		rc = udp_open_group(u, &u->group[u->groups++], at, group);
	}
	return rc;
}

int storm_udp_open_groups(struct storm_udp *u)
{
	int control = u->tx[STORM_CONTROL].src.fd, rc;

	u->group = calloc(2 * u->set.groups, sizeof(*u->group));
	u->group_addr = calloc(2 * u->set.groups, sizeof(*u->group_addr));
	if (!u->group || !u->group_addr)
		return STORM_ENOMEM;
	/* After bind(), so that a second agent failed there. */
	storm_udp_option(control, SOL_SOCKET, SO_REUSEPORT, 1);
	rc = udp_open_groups_at(u, &u->iface);
	if (!rc && u->has_rail)
		rc = udp_open_groups_at(u, &u->rail);
	return rc;
}

void storm_udp_find_rail(struct storm_udp *u)
{
	if (!u->set.strobe_device[0] || !u->set.multicast)
		return;
	if (storm_udp_iface_named(&u->set, u->set.strobe_device, "StrobeRail",
				  &u->rail)) {
		storm_log(STORM_LOG_WARN,
			  "StrobeRail %s in storm.conf cannot "
			  "be used: interface %s is used for everything",
			  u->set.strobe_device, u->iface.name);
		return;
	}
	u->has_rail = u->rail.index != u->iface.index;
	if (!u->has_rail)
		storm_log(STORM_LOG_INFO,
			  "StrobeRail %s is the interface of "
			  "everything else: the key has no effect",
			  u->rail.name);
}

void storm_udp_fragments(struct storm_udp *u)
{
	for (int i = 0; i < 2; i++)
		storm_udp_option(u->tx[i].src.fd, IPPROTO_IP, IP_MTU_DISCOVER,
				 IP_PMTUDISC_DONT);
}
