/*
 * compare_rate.c - measure how long a COMPARE-AND-WRITE takes, and, to compare,
 * a round trip of datagrams between two hosts.
 *
 *	compare_rate owner RADIX TIMES NAME=ADDRESS...
 *	compare_rate pong
 *	compare_rate ping ADDRESS TIMES
 *
 * The owner opens a domain over these nodes, whose agents must be running.  It
 * compares an own variable TIMES times, which succeeds each time.  Then it compares
 * a global variable TIMES times and increments it.  ping sends TIMES datagrams to
 * the host that runs pong, each after the reply to the last one.  They have the
 * length of a sealed STATUS, but are not sealed.  ping and pong are bound to
 * different processors if the hosts share a machine.  Each measurement prints a
 * line "MINIMUM MEDIAN P90" in microseconds.
 *
 * compare_bench runs both in a lab.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "node_arg.h"
#include "src/libstorm/storm.h"

#define PORT 8391
#define PING_BYTES 150
#define WARM_UP 20 /* not counted */
#define TIMES_MAX 1000000

static uint64_t took[TIMES_MAX]; /* ns */

static int usage(void)
{
	fprintf(stderr,
		"usage: compare_rate owner RADIX TIMES NAME=ADDRESS...\n"
		"       compare_rate pong\n"
		"       compare_rate ping ADDRESS TIMES\n");
	return 2;
}

static int fail(const char *what)
{
	fprintf(stderr, "compare_rate: %s\n", what);
	return 1;
}

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

static void print(size_t n)
{
	qsort(took, n, sizeof(took[0]), ascending);
	printf("%.1f %.1f %.1f\n", took[0] / 1e3, took[n / 2] / 1e3,
	       took[n * 9 / 10] / 1e3);
}

/* ----------------------------------------------------------------- the owner --- */

static storm_domain_t *
open_domain(uint32_t radix, const struct storm_node *nodes, uint32_t count)
{
	struct storm_domain_conf conf = { .nodes = nodes, .count = count };
	storm_domain_t *d;
	int err;

	storm_settings_default(&conf.set);
	conf.set.radix = radix;
	d = storm_domain_create(&conf, &err);
	if (!err)
		err = storm_domain_open(d);
	if (!err)
		err = storm_domain_wait_open(d, NULL);
	if (!err)
		return d;
	fprintf(stderr, "compare_rate: cannot open the domain: %s\n",
		storm_strerror(err));
	storm_domain_destroy(d);
	return NULL;
}

/* Compare an own variable without a write: a reduction. */
static bool compare(storm_domain_t *d)
{
	return storm_compare_and_write(d, NULL, STORM_VAR_USER, STORM_EQ, 0,
				       NULL, NULL) == STORM_TRUE;
}

/* Compare a global variable and increment it: ordered, with a decision. */
static bool compare_and_write(storm_domain_t *d)
{
	static uint64_t value;
	struct storm_assign next = { STORM_GLOBAL(0), value + 1 };

	return storm_compare_and_write(d, NULL, STORM_GLOBAL(0), STORM_EQ,
				       value++, &next, NULL) == STORM_TRUE;
}

static bool measure(storm_domain_t *d, bool (*ask)(storm_domain_t *d),
		    uint32_t times)
{
	for (uint32_t i = 0; i < WARM_UP; i++)
		if (!ask(d))
			return false;
	for (uint32_t i = 0; i < times; i++) {
		uint64_t start = storm_now();

		if (!ask(d))
			return false;
		took[i] = storm_now() - start;
	}
	print(times);
	return true;
}

static int owner(uint32_t radix, uint32_t times, const struct storm_node *nodes,
		 uint32_t count)
{
	storm_domain_t *d = open_domain(radix, nodes, count);
	bool ok;

	if (!d)
		return 1;
	ok = measure(d, compare, times) && measure(d, compare_and_write, times);
	storm_domain_destroy(d);
	return ok ? 0 : fail("a comparison did not return STORM_TRUE");
}

static int owner_of(const char *radix, const char *times, int count,
		    char **names)
{
	struct storm_node *nodes = calloc((size_t) count, sizeof(*nodes));
	struct storm_settings set;
	int n = atoi(times), rc;

	if (!nodes)
		return fail("out of memory");
	storm_settings_default(&set);
	for (int i = 0; i < count; i++)
		if (!node_of(names[i], set.port, &nodes[i]))
			n = 0;
	if (n < 1 || n > TIMES_MAX)
		rc = usage();
	else
		rc = owner((uint32_t) atoi(radix), (uint32_t) n, nodes,
			   (uint32_t) count);
	free(nodes);
	return rc;
}

/* ------------------------------------------------------------ the round trip --- */

/* Bind this process to a processor.  Real nodes never share one.  On one machine
 * ping and pong could, and then a round trip would take half as long. */
static void keep_to(int which)
{
	cpu_set_t all, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < 2)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && which-- == 0)
			CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static int udp_socket(struct sockaddr_in *a)
{
	struct timeval limit = { .tv_sec = 5 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	a->sin_family = AF_INET;
	a->sin_port = htons(PORT);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	return fd;
}

/* Return every datagram; runs until a signal ends it. */
static int pong(void)
{
	struct sockaddr_in a = { 0 };
	int fd = udp_socket(&a);
	char buf[PING_BYTES];

	keep_to(0);
	if (fd < 0 || bind(fd, (struct sockaddr *) &a, sizeof(a)))
		return fail("cannot bind the UDP socket");
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		socklen_t len = sizeof(a);
		ssize_t n = recvfrom(fd, buf, sizeof(buf), 0,
				     (struct sockaddr *) &a, &len);

		if (n < 0 || sendto(fd, buf, (size_t) n, 0,
				    (struct sockaddr *) &a, len) != n)
			return fail("cannot receive or send a datagram");
	}
}

static bool round_trip(int fd)
{
	char buf[PING_BYTES] = { 0 };

	return send(fd, buf, sizeof(buf), 0) == sizeof(buf) &&
	       recv(fd, buf, sizeof(buf), 0) == sizeof(buf);
}

static int ping(const char *to, const char *times)
{
	struct timeval limit = { .tv_sec = 5 };
	struct sockaddr_in a = { 0 };
	int n = atoi(times), fd = udp_socket(&a);
	bool ok;

	keep_to(1);
	if (n < 1 || n > TIMES_MAX || inet_pton(AF_INET, to, &a.sin_addr) != 1)
		return usage();
	ok = fd >= 0 && !connect(fd, (struct sockaddr *) &a, sizeof(a)) &&
	     !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	for (int i = 0; ok && i < WARM_UP; i++)
		ok = round_trip(fd);
	for (int i = 0; ok && i < n; i++) {
		uint64_t start = storm_now();

		ok = round_trip(fd);
		took[i] = storm_now() - start;
	}
	close(fd);
	if (!ok)
		return fail("no reply within 5 s: is pong running?");
	print((size_t) n);
	return 0;
}

int main(int argc, char **argv)
{
	const char *role = argc > 1 ? argv[1] : "";

	if (!strcmp(role, "owner") && argc > 4)
		return owner_of(argv[2], argv[3], argc - 4, argv + 4);
	if (!strcmp(role, "pong") && argc == 2)
		return pong();
	if (!strcmp(role, "ping") && argc == 4)
		return ping(argv[2], argv[3]);
	return usage();
}
