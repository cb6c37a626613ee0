/*
 * udp_pulse.c - signs of life have a socket of their own, beside all others at
 * the same port.
 *
 * Whatever else is sent to this host, and whatever keeps other threads busy, a
 * sign of life, and the answer to a question, must not wait for it.  So a thread
 * of its own reads this socket, to which the kernel lets through pulses of one
 * session alone.  The port is the one that firewalls let pass already.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "udp_filter.h"
#include "udp_private.h"

#define PASS UINT32_MAX

struct udp_pulse {
	int fd;
	/* These belong to the thread that receives, but for ppm. */
	struct storm_drop drop;
	_Atomic uint32_t ppm;
	_Atomic uint64_t datagrams, bytes, dropped;
};

static struct storm_udp *udp_pulse_udp(struct storm_net *net)
{
	return (struct storm_udp *) net;
}

/* session 0: nothing comes to it. */
static int udp_pulse_filter(int fd, uint64_t session)
{
	struct udp_filter f = { .n = 0 };

	if (session)
		storm_udp_filter_pulse(&f, UDP_FILTER_SOCKET, session, PASS);
	storm_udp_filter_end(&f, 0);
	return storm_udp_filter_attach(fd, SO_ATTACH_FILTER, &f);
}

static void udp_pulse_steer(struct storm_net *net, uint64_t session)
{
	struct storm_udp *u = udp_pulse_udp(net);

	u->choice.pulse = session;
	if (udp_pulse_filter(u->pulse->fd, session) || storm_udp_choice_set(u))
		storm_log(
			STORM_LOG_WARN,
			"the kernel takes no filter for signs of life (%m): a node that is lost is known later");
}

static int udp_pulse_open(struct storm_net *net)
{
	struct storm_udp *u = udp_pulse_udp(net);
	struct udp_pulse *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -1;
	p->fd = storm_udp_socket();
	p->ppm = u->drop.ppm;
	p->drop.state = u->drop.state ^ UINT64_C(0x9e3779b97f4a7c15);
	u->pulse = p;
	/* Before the first datagram comes, it refuses all. */
	if (p->fd >= 0 && !udp_pulse_filter(p->fd, 0) &&
	    !storm_udp_option(p->fd, IPPROTO_IP, IP_MULTICAST_ALL, 0) &&
	    !storm_udp_control(u, p->fd) &&
	    !storm_udp_choice_bind(u, p->fd, &u->choice.pulse_number) &&
	    !storm_udp_choice_set(u))
		return p->fd;
	err = errno;
	storm_log(
		STORM_LOG_WARN,
		"signs of life cannot have a socket of their own (%m): a node that is lost is known later");
	storm_udp_pulse_close(u);
	errno = err;
	return -1;
}

void storm_udp_pulse_close(struct storm_udp *u)
{
	if (!u->pulse)
		return;
	if (u->pulse->fd >= 0)
		close(u->pulse->fd);
	free(u->pulse);
	u->pulse = NULL;
}

static ssize_t udp_pulse_receive(struct storm_net *net, void *buf, size_t size)
{
	struct udp_pulse *p = udp_pulse_udp(net)->pulse;
	ssize_t n;

	do {
		n = recv(p->fd, buf, size, MSG_DONTWAIT);
		/* a node that has no socket there: it is asked again */
		if (n < 0 && errno != ECONNREFUSED)
			return -1;
		if (n < 0)
			continue;
		p->datagrams++;
		p->bytes += (uint64_t) n;
		p->drop.ppm = p->ppm;
	} while (n < 0 || storm_drop(&p->drop));
	p->dropped = p->drop.dropped;
	return n;
}

static void udp_pulse_send(struct storm_net *net, const struct storm_addr *to,
			   const void *buf, size_t len)
{
	struct storm_udp *u = udp_pulse_udp(net);
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(to->port) };

	memcpy(&sin.sin_addr, to->ip + 12, 4);
	sendto(u->pulse->fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL,
	       (struct sockaddr *) &sin, sizeof(sin));
}

const struct storm_pulse_ops storm_udp_pulse_ops = {
	.open = udp_pulse_open,
	.steer = udp_pulse_steer,
	.receive = udp_pulse_receive,
	.send = udp_pulse_send,
};

void storm_udp_pulse_count(const struct storm_udp *u,
			   struct storm_udp_stats *out)
{
	const struct udp_pulse *p = u->pulse;

	if (!p)
		return;
	out->rx_datagrams += p->datagrams;
	out->rx_bytes += p->bytes;
	out->rx_calls += p->datagrams;
	out->dropped_by_test += p->dropped;
}

void storm_udp_pulse_drop(struct storm_udp *u, uint32_t ppm)
{
	if (u->pulse)
		u->pulse->ppm = ppm;
}
