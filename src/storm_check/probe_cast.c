/*
 * probe_cast.c - see probe_cast.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "probe_cast.h"
#include "src/libstorm/base/clock.h"

#define MARK "storm_check"
#define EACH 8	   /* datagrams of each size: one may be lost */
#define HEADERS 28 /* IP's and UDP's */
#define TTL 32	   /* behind routers, too: TTL in storm.conf is another check */
#define PORTS 16

static int cast_failed(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	return 1;
}

static bool cast_suits(const struct ifaddrs *i, const char *interface)
{
	return i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
	       i->ifa_flags & IFF_UP && i->ifa_flags & IFF_MULTICAST &&
	       !(i->ifa_flags & IFF_LOOPBACK) &&
	       (!*interface || !strcmp(interface, i->ifa_name));
}

/* On how many interfaces the group is joined. */
static int cast_join(int fd, struct in_addr group, const char *interface)
{
	struct ifaddrs *all, *i;
	int joined = 0;

	if (getifaddrs(&all))
		return 0;
	for (i = all; i; i = i->ifa_next) {
		struct ip_mreqn r = { .imr_multiaddr = group };

		if (!cast_suits(i, interface))
			continue;
		r.imr_ifindex = if_nametoindex(i->ifa_name);
		/* an interface with two addresses is joined already */
		joined += !setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &r,
				      sizeof(r)) ||
			  errno == EADDRINUSE;
	}
	freeifaddrs(all);
	return joined;
}

/* Bind to the next free port from this one on, which becomes *port. */
static bool cast_bind(int fd, int *port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	for (int n = 0; n < PORTS; n++) {
		sin.sin_port = htons(*port + n);
		if (!bind(fd, (struct sockaddr *) &sin, sizeof(sin))) {
			*port += n;
			return true;
		}
	}
	return false;
}

static void cast_receive(int fd, int seconds, int heard[2])
{
	uint64_t until = storm_now() + seconds * STORM_SEC, now;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char buf[sizeof(MARK)];

	while ((heard[0] < EACH || heard[1] < EACH) &&
	       (now = storm_now()) < until) {
		ssize_t n;

		if (poll(&p, 1, (until - now) / STORM_MS + 1) < 1)
			continue;
		n = recv(fd, buf, sizeof(buf), MSG_TRUNC | MSG_DONTWAIT);
		if (n >= (ssize_t) sizeof(MARK) &&
		    !memcmp(buf, MARK, sizeof(MARK)))
			heard[n > (ssize_t) sizeof(MARK)]++;
	}
}

int probe_hear(const char *group, int port, const char *interface, int seconds)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),
	    heard[2] = { 0 };
	struct in_addr to;

	if (fd < 0 || inet_pton(AF_INET, group, &to) != 1)
		return cast_failed("cannot listen");
	if (!cast_bind(fd, &port))
		return cast_failed("no free port");
	if (!cast_join(fd, to, interface)) {
		printf("no interface %s is up with multicast and an IPv4 address\n",
		       interface);
		return 1;
	}
	printf("ready %d\n", port);
	cast_receive(fd, seconds, heard);
	printf("heard %d %d\n", heard[0], heard[1]);
	return 0;
}

static int cast_send(int fd, const struct sockaddr_in *to, size_t len)
{
	static char data[65536] = MARK;

	return sendto(fd, data, len, 0, (const struct sockaddr *) to,
		      sizeof(*to)) < 0;
}

/* The address of this host from which packets to that one go. */
static bool cast_from(const char *host, struct in_addr *from)
{
	const struct addrinfo want = { .ai_family = AF_INET,
				       .ai_socktype = SOCK_DGRAM };
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);
	struct addrinfo *to;
	int fd;
	bool good;

	if (getaddrinfo(host, "9", &want, &to))
		return false;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	good = fd >= 0 && !connect(fd, to->ai_addr, to->ai_addrlen) &&
	       !getsockname(fd, (struct sockaddr *) &sin, &len);
	freeaddrinfo(to);
	if (fd >= 0)
		close(fd);
	if (good)
		*from = sin.sin_addr;
	return good;
}

int probe_shout(const char *group, int port, const char *host, int large)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ttl = TTL;
	int whole = IP_PMTUDISC_DO;
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port) };
	struct ip_mreqn by = { 0 };

	if (fd < 0 || inet_pton(AF_INET, group, &to.sin_addr) != 1 ||
	    !cast_from(host, &by.imr_address))
		return cast_failed("cannot send");
	if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof(by)) ||
	    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &ttl, sizeof(ttl)) ||
	    setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof(whole)))
		return cast_failed("cannot send by multicast");
	for (int i = 0; i < EACH; i++) {
		const struct timespec pause = { .tv_nsec = 20 * STORM_MS };

		if (cast_send(fd, &to, sizeof(MARK)))
			return cast_failed("cannot send");
		if (cast_send(fd, &to, large - HEADERS))
			return cast_failed("cannot send a large datagram");
		nanosleep(&pause, NULL);
	}
	return 0;
}
