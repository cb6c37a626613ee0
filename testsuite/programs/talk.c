/*
 * talk - two tasks that send to each other without a pause, in their step's network
 * context, and find what is lost, repeated, out of order or another step's.
 *
 *	talk PORT STOP
 *
 * Each sends numbered datagrams to the step's group, with the context's key, at most
 * WINDOW beyond what has come from the other: so no buffer can be full, and whatever
 * is missing was lost.  They end when rank 0 finds the file STOP.  Each prints how
 * many have come.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WINDOW 8
#define HELLO_MS 20
#define PATIENCE (60 * 1000 / HELLO_MS)
#define LOOK 256 /* for STOP, once in so many */

struct word {
	char key[64];
	uint32_t rank, last;
	uint64_t number; /* 0: the sender listens */
};

static struct word out;
static struct sockaddr_in group;
static int fd;

static void fail(const char *what)
{
	fprintf(stderr, "talk: rank %u: %s: %s\n", out.rank, what,
		strerror(errno));
	exit(1);
}

static const char *given(const char *name)
{
	const char *value = getenv(name);

	if (!value) {
		fprintf(stderr, "talk: no %s\n", name);
		exit(2);
	}
	return value;
}

/* This host's address: a lab's hosts have no default route. */
static struct in_addr own_address(void)
{
	struct addrinfo hints = { .ai_family = AF_INET }, *found;
	struct in_addr a;

	if (getaddrinfo(given("SLURMD_NODENAME"), NULL, &hints, &found))
		fail("the node's address");
	a = ((struct sockaddr_in *) found->ai_addr)->sin_addr;
	freeaddrinfo(found);
	return a;
}

static void join(uint16_t port)
{
	struct ip_mreq mreq = { .imr_interface = own_address() };
	int on = 1, off = 0;

	group.sin_family = AF_INET;
	group.sin_port = htons(port);
	if (!inet_aton(given("STORM_CONTEXT_GROUP"), &group.sin_addr))
		fail("the group");
	mreq.imr_multiaddr = group.sin_addr;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	/* bound to the group, so that no other group's come */
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *) &group, sizeof(group)) ||
	    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &mreq.imr_interface,
		       sizeof(mreq.imr_interface)) ||
	    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &off, sizeof(off)) ||
	    setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &mreq, sizeof(mreq)))
		fail("socket");
}

static void say(uint64_t number)
{
	out.number = number;
	if (sendto(fd, &out, sizeof(out), 0, (struct sockaddr *) &group,
		   sizeof(group)) != sizeof(out))
		fail("sendto");
}

/* False: nothing has come in time. */
static bool hear(struct word *in)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int rc = poll(&p, 1, HELLO_MS);

	if (rc < 0)
		fail("poll");
	if (!rc)
		return false;
	if (recv(fd, in, sizeof(*in), 0) != sizeof(*in))
		fail("recv");
	if (memcmp(in->key, out.key, sizeof(in->key))) {
		fprintf(stderr, "talk: another step's datagram\n");
		exit(3);
	}
	if (in->rank != 1 - out.rank) {
		fprintf(stderr, "talk: a datagram of rank %u\n", in->rank);
		exit(3);
	}
	return true;
}

static void expect(const struct word *in, uint64_t number)
{
	if (in->number == number)
		return;
	fprintf(stderr, "talk: rank %u: %lu came, not %lu\n", out.rank,
		(unsigned long) in->number, (unsigned long) number);
	exit(4);
}

int main(int argc, char **argv)
{
	uint64_t sent = 0, heard = 0;
	int silent = 0;
	bool there = false, ends = false;
	struct word in;

	if (argc != 3 ||
	    strlen(given("STORM_CONTEXT_KEY")) != sizeof(out.key)) {
		fprintf(stderr,
			"usage: talk PORT STOP, in a step with a context\n");
		return 2;
	}
	memcpy(out.key, given("STORM_CONTEXT_KEY"), sizeof(out.key));
	out.rank = (uint32_t) atoi(given("SLURM_PROCID"));
	join((uint16_t) atoi(argv[1]));
	while (!out.last || !ends) {
		if (!there)
			say(0);
		while (there && !out.last && sent < heard + WINDOW) {
			out.last = out.rank ? ends :
					      sent % LOOK == 0 &&
						      !access(argv[2], F_OK);
			say(++sent);
		}
		if (out.last && ends)
			break;
		if (!hear(&in)) {
			if (++silent < PATIENCE)
				continue;
			fprintf(stderr, "talk: rank %u: nothing after %lu\n",
				out.rank, (unsigned long) heard);
			return 5;
		}
		silent = 0;
		there = true;
		if (!in.number && !heard)
			continue;
		expect(&in, heard + 1);
		heard++;
		ends = in.last;
	}
	printf("rank %u heard %lu\n", out.rank, (unsigned long) heard);
	return 0;
}
