/*
 * talk - two tasks that send to each other without a pause, in their step's network
 * context, and find what is lost, repeated, out of order or another step's.
 *
 *	talk PORT STOP
 *
 * Each sends numbered datagrams to the step's group, with the context's key, at most
 * WINDOW beyond what has come from the other: so no buffer can be full, and whatever
 * is missing was lost.  They end when rank 0 finds the file STOP.  Each prints how
 * many have come.  talk_udp.c sends by UDP, talk_rdma.c by RDMA.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "talk.h"

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

static const char *given(const char *name)
{
	const char *value = getenv(name);

	if (!value) {
		fprintf(stderr, "talk: no %s\n", name);
		exit(2);
	}
	return value;
}

/* A lab's hosts have no default route. */
static struct in_addr own_address(void)
{
	struct addrinfo hints = { .ai_family = AF_INET }, *found;
	struct in_addr a;

	if (getaddrinfo(given("SLURMD_NODENAME"), NULL, &hints, &found))
		talk_fail("the node's address");
	a = ((struct sockaddr_in *) found->ai_addr)->sin_addr;
	freeaddrinfo(found);
	return a;
}

static struct in_addr group_address(void)
{
	struct in_addr a;

	if (!inet_aton(given("STORM_CONTEXT_GROUP"), &a))
		talk_fail("the group's address");
	return a;
}

static void say(uint64_t number)
{
	out.number = number;
	talk_send(&out, sizeof(out));
}

/* False: nothing has come in time, but its own maybe. */
static bool hear(struct word *in)
{
	if (!talk_receive(in, sizeof(*in), HELLO_MS))
		return false;
	if (memcmp(in->key, out.key, sizeof(in->key))) {
		fprintf(stderr, "talk: another step's datagram\n");
		exit(3);
	}
	if (in->rank == out.rank)
		return false;
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
	talk_open(own_address(), group_address(), (uint16_t) atoi(argv[1]));
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
