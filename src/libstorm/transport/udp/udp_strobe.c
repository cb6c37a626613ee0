/*
 * udp_strobe.c - strobes have a socket of their own, beside all others at the
 * same port.
 *
 * An agent must obey a strobe within microseconds, whatever else is sent to its
 * port.  So a thread of its own reads this socket, and the kernel lets through
 * only what looks like a strobe of the cluster domain's owner and comes from
 * where its strobes have come from (udp_filter.c).  The kernel's choice among
 * the sockets of one port (udp_choice.c) finds them among unicast datagrams.
   Multicasts come to all sockets that have joined.  There, two
 * filters are each other's opposite.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/udp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "udp_filter.h"
#include "udp_private.h"

#define PASS UINT32_MAX /* a filter's value: the whole datagram */

struct udp_strobe {
	int fd;
	bool on;
	struct storm_strobe_match match; /* if on */
	/* These belong to the thread that receives, but for ppm. */
	struct storm_drop drop;
	_Atomic uint32_t ppm;
	_Atomic uint64_t datagrams, bytes, rail, dropped;
};

static struct storm_udp *udp_strobe_udp(struct storm_net *net)
{
	return (struct storm_udp *) net;
}

/* ------------------------------------------------------------------ filters */

static int udp_strobe_filter(int fd, struct udp_filter *f)
{
	int none = 0;

	if (f->n)
		return storm_udp_filter_attach(fd, SO_ATTACH_FILTER, f);
	return setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &none,
			  sizeof(none)) &&
			       errno != ENOENT ?
		       -1 :
		       0;
}

/* What comes to the socket of strobes. */
static int udp_strobe_filter_own(struct storm_udp *u, bool on)
{
	struct udp_filter f = { .n = 0 };

	if (on)
		storm_udp_filter_strobe(&f, UDP_FILTER_SOCKET,
					&u->strobe->match, PASS);
	storm_udp_filter_end(&f, 0);
	return udp_strobe_filter(u->strobe->fd, &f);
}

/* Which of the two gets a unicast. */
static int udp_strobe_filter_choice(struct storm_udp *u, bool on)
{
	u->choice.strobe = on ? &u->strobe->match : NULL;
	return storm_udp_choice_set(u);
}

/* What comes to a socket of poll()'s.  strobes: without those of the thread. */
static int udp_strobe_filter_other(struct storm_udp *u, int fd, bool strobes)
{
	struct udp_filter f = { .n = 0 };

	if (strobes)
		storm_udp_filter_strobe(&f, UDP_FILTER_SOCKET,
					&u->strobe->match, 0);
	if (u->session)
		storm_udp_filter_sessions(&f, UDP_FILTER_SOCKET, u->session,
					  u->sessions);
	if (f.n)
		storm_udp_filter_end(&f, PASS);
	return udp_strobe_filter(fd, &f);
}

static bool udp_strobe_is_group(const struct storm_udp *u, uint32_t i)
{
	struct sockaddr_in sin;

	if (!u->strobe || !u->strobe->on || !u->strobe->match.group.port)
		return false;
	memcpy(&sin.sin_addr, u->strobe->match.group.ip + 12, 4);
	return sin.sin_addr.s_addr == u->group_addr[i].s_addr;
}

static int udp_strobe_filter_others(struct storm_udp *u)
{
	int rc = udp_strobe_filter_other(u, u->tx[STORM_CONTROL].src.fd, false);

	for (uint32_t i = 0; i < u->groups; i++)
		rc |= udp_strobe_filter_other(u, u->group[i].fd,
					      udp_strobe_is_group(u, i));
	return rc;
}

void storm_udp_admit(struct storm_net *net, const uint64_t *session, size_t n,
		     bool on)
{
	struct storm_udp *u = udp_strobe_udp(net);

	free(u->session);
	u->session = on ? malloc((n + 1) * sizeof(*session)) : NULL;
	u->sessions = n;
	if (u->session && n)
		memcpy(u->session, session, n * sizeof(*session));
	if (!udp_strobe_filter_others(u) || !u->session)
		return;
	/* an old filter would refuse new sessions */
	free(u->session);
	u->session = NULL;
	udp_strobe_filter_others(u);
}

/* -------------------------------------------------------------------- steer */

static void udp_strobe_join_at(struct storm_udp *u, const struct udp_iface *at,
			       const struct storm_addr *group, bool join)
{
	struct in_addr addr;

	memcpy(&addr, group->ip + 12, sizeof(addr));
	storm_udp_membership(u->strobe->fd, at, addr,
			     join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP);
}

static void udp_strobe_join(struct storm_udp *u, const struct storm_addr *group,
			    bool join)
{
	if (!group->port || !u->groups)
		return;
	udp_strobe_join_at(u, &u->iface, group, join);
	if (u->has_rail)
		udp_strobe_join_at(u, &u->rail, group, join);
}

void storm_udp_strobe_join(struct storm_udp *u, bool join)
{
	if (u->strobe && u->strobe->on)
		udp_strobe_join(u, &u->strobe->match.group, join);
}

static void udp_strobe_steer_off(struct storm_udp *u)
{
	struct udp_strobe *s = u->strobe;

	if (!s->on)
		return;
	s->on = false;
	udp_strobe_filter_choice(u, false);
	udp_strobe_filter_others(u);
	udp_strobe_join(u, &s->match.group, false);
	udp_strobe_filter_own(u, false);
}

static void udp_strobe_steer(struct storm_net *net,
			     const struct storm_strobe_match *m)
{
	struct storm_udp *u = udp_strobe_udp(net);
	struct udp_strobe *s = u->strobe;

	if (s->on)
		udp_strobe_join(u, &s->match.group, false);
	if (!m) {
		udp_strobe_steer_off(u);
		return;
	}
	s->match = *m;
	s->on = true;
	/* First the new way, then not the old one: a strobe may come twice, but
	 * none is lost. */
	udp_strobe_join(u, &m->group, true);
	if (!udp_strobe_filter_own(u, true) &&
	    !udp_strobe_filter_choice(u, true) && !udp_strobe_filter_others(u))
		return;
	storm_log(STORM_LOG_WARN,
		  "the kernel takes no filter for strobes (%m): they share the "
		  "sockets of all other datagrams");
	udp_strobe_steer_off(u);
}

/* --------------------------------------------------------------------- open */

static int udp_strobe_open(struct storm_net *net)
{
	struct storm_udp *u = udp_strobe_udp(net);
	struct udp_strobe *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -1;
	s->fd = storm_udp_socket();
	u->strobe = s;
	storm_udp_strobe_drop(u, u->drop.ppm, ~u->drop.state);
	/* Before the first datagram comes, it refuses all.  Super-packets come
	 * whole, or the kernel would cut all data of the group for it. */
	if (s->fd >= 0 && !udp_strobe_filter_own(u, false) &&
	    !storm_udp_option(s->fd, SOL_UDP, UDP_GRO, 1) &&
	    !storm_udp_option(s->fd, IPPROTO_IP, IP_PKTINFO, 1) &&
	    !storm_udp_option(s->fd, SOL_SOCKET, SO_TIMESTAMPNS, 1) &&
	    !storm_udp_control(u, s->fd) &&
	    !storm_udp_choice_bind(u, s->fd, &u->choice.strobe_number) &&
	    !udp_strobe_filter_choice(u, false))
		return s->fd;
	err = errno;
	/* the caller may try again when others have given some back */
	if (err != EMFILE && err != ENFILE && err != ENOMEM && err != ENOBUFS)
		storm_log(
			STORM_LOG_WARN,
			"strobes cannot have a socket of their own (%m): they "
			"share the sockets of all other datagrams");
	storm_udp_strobe_close(u);
	errno = err;
	return -1;
}

void storm_udp_strobe_close(struct storm_udp *u)
{
	if (!u->strobe)
		return;
	u->choice.strobe = NULL;
	if (u->strobe->fd >= 0)
		close(u->strobe->fd);
	free(u->strobe);
	u->strobe = NULL;
}

/* --------------------------------------------------------- the other thread */

/* By which interface it came. */
static int udp_strobe_iface(struct msghdr *msg)
{
	struct cmsghdr *c;
	struct in_pktinfo info;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != IPPROTO_IP || c->cmsg_type != IP_PKTINFO)
			continue;
		memcpy(&info, CMSG_DATA(c), sizeof(info));
		return info.ipi_ifindex;
	}
	return 0;
}

/* How old a kernel's stamp may be.  One that is older, or of the future, shows
 * that the wall clock was set. */
#define STAMP_MAX STORM_SEC

/* When it came, before this thread was woken up: the kernel's stamp is of the
 * wall clock, so take its age. */
static uint64_t udp_strobe_time(struct msghdr *msg)
{
	struct timespec stamp, wall;
	struct cmsghdr *c;
	uint64_t now, age;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET ||
		    c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&stamp, CMSG_DATA(c), sizeof(stamp));
		/* In this order: an interrupt in between makes the time too
		 * late.  A search for the least delay ignores that; one
		 * that is too early would count for seconds. */
		clock_gettime(CLOCK_REALTIME, &wall);
		now = storm_now();
		age = (uint64_t) (wall.tv_sec - stamp.tv_sec) * STORM_SEC +
		      (uint64_t) (wall.tv_nsec - stamp.tv_nsec);
		return age < storm_min(STAMP_MAX, now) ? now - age : now;
	}
	return storm_now();
}

static ssize_t udp_strobe_receive(struct storm_net *net, void *buf, size_t size,
				  uint64_t *at)
{
	struct storm_udp *u = udp_strobe_udp(net);
	struct udp_strobe *s = u->strobe;
	union {
		char bytes[CMSG_SPACE(sizeof(struct in_pktinfo)) +
			   CMSG_SPACE(sizeof(struct timespec)) +
			   CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = buf, .iov_len = size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	do {
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		n = recvmsg(s->fd, &msg, MSG_DONTWAIT);
		if (n < 0)
			return -1;
		s->datagrams++;
		s->bytes += (uint64_t) n;
		if (u->has_rail && udp_strobe_iface(&msg) == u->rail.index)
			s->rail++;
		s->drop.ppm = s->ppm;
	} while (storm_drop(&s->drop));
	s->dropped = s->drop.dropped;
	*at = udp_strobe_time(&msg);
	return n;
}

static void udp_strobe_send(struct storm_net *net, const struct storm_addr *to,
			    const void *buf, size_t len)
{
	struct storm_udp *u = udp_strobe_udp(net);
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(to->port) };

	memcpy(&sin.sin_addr, to->ip + 12, 4);
	sendto(u->strobe->fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL,
	       (struct sockaddr *) &sin, sizeof(sin));
}

static void udp_strobe_mute(struct storm_net *net)
{
	struct udp_filter f = { .n = 0 };

	storm_udp_filter_end(&f, 0);
	udp_strobe_filter(udp_strobe_udp(net)->strobe->fd, &f);
}

const struct storm_strobe_ops storm_udp_strobe_ops = {
	.open = udp_strobe_open,
	.steer = udp_strobe_steer,
	.receive = udp_strobe_receive,
	.send = udp_strobe_send,
	.mute = udp_strobe_mute,
};

/* ----------------------------------------------------------------- counters */

void storm_udp_strobe_count(const struct storm_udp *u,
			    struct storm_udp_stats *out)
{
	const struct udp_strobe *s = u->strobe;

	if (!s)
		return;
	out->rx_datagrams += s->datagrams;
	out->rx_bytes += s->bytes;
	out->rx_calls += s->datagrams;
	out->rx_rail += s->rail;
	out->dropped_by_test += s->dropped;
}

void storm_udp_strobe_drop(struct storm_udp *u, uint32_t ppm, uint64_t seed)
{
	if (!u->strobe)
		return;
	u->strobe->drop.state = seed;
	u->strobe->ppm = ppm;
}
