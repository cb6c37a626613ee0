/*
 * talk - two tasks that send to each other without a pause, in their step's network
 * context, and find what is lost, repeated, out of order or another step's.
 *
 *	talk PORT STOP
 *
 * Each sends numbered datagrams to the step's group, with the context's key, at most
 * WINDOW beyond what has come from the other.  Each sends only when it has read all
 * that came.  So no buffer can be full, and whatever is missing was lost.  They end
 * when rank 0 finds the file STOP.  Each prints how many have come.  talk_udp.c sends
 * by UDP, talk_rdma.c by RDMA.
 *
 * Before it has heard the other, a task says hello every HELLO_MS.  The other may be
 * stopped then, and its buffers fill with hellos.  It reads them all before it sends
 * anything, and numbers come only as an answer: they find empty buffers.
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
#include <time.h>
#include <unistd.h>

#include "talk.h"

#define WINDOW 8
#define HELLO_MS 20
#define PATIENCE_MS (60 * 1000)
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

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

enum heard { NOTHING, OWN, PEER };

static enum heard hear(struct word *in, int ms)
{
	if (!talk_receive(in, sizeof(*in), ms))
		return NOTHING;
	if (memcmp(in->key, out.key, sizeof(in->key))) {
		fprintf(stderr, "talk: another step's datagram\n");
		exit(3);
	}
	if (in->rank == out.rank)
		return OWN;
	if (in->rank != 1 - out.rank) {
		fprintf(stderr, "talk: a datagram of rank %u\n", in->rank);
		exit(3);
	}
	return PEER;
}

static void expect(const struct word *in, uint64_t number)
{
	if (in->number == number)
		return;
	fprintf(stderr, "talk: rank %u: %lu came, not %lu\n", out.rank,
		(unsigned long) in->number, (unsigned long) number);
	exit(4);
}

static struct {
	const char *stop;
	uint64_t sent, heard;
	int64_t heard_at, hello_at;
	bool there, ends; /* the other: it was heard, it has sent its last */
} t;

static void take(const struct word *in)
{
	t.heard_at = now_ms();
	t.there = true;
	if (!in->number && !t.heard)
		return;
	expect(in, t.heard + 1);
	t.heard++;
	t.ends = in->last;
}

/* All that came was read. */
static void speak(void)
{
	if (!t.there && now_ms() >= t.hello_at) {
		t.hello_at = now_ms() + HELLO_MS;
		say(0);
	}
	while (t.there && !out.last && t.sent < t.heard + WINDOW) {
		out.last = out.rank ?
				   t.ends :
				   t.sent % LOOK == 0 && !access(t.stop, F_OK);
		say(++t.sent);
	}
}

int main(int argc, char **argv)
{
	int wait = 0; /* ms: none until all that came was read */
	struct word in;

	if (argc != 3 ||
	    strlen(given("STORM_CONTEXT_KEY")) != sizeof(out.key)) {
		fprintf(stderr,
			"usage: talk PORT STOP, in a step with a context\n");
		return 2;
	}
	memcpy(out.key, given("STORM_CONTEXT_KEY"), sizeof(out.key));
	out.rank = (uint32_t) atoi(given("SLURM_PROCID"));
	t.stop = argv[2];
	talk_open(own_address(), group_address(), (uint16_t) atoi(argv[1]));
	t.heard_at = now_ms();
	while (!out.last || !t.ends) {
		enum heard what = hear(&in, wait);

		wait = 0;
		if (what == PEER)
			take(&in);
		if (what != NOTHING)
			continue;
		speak();
		wait = HELLO_MS;
		if (now_ms() < t.heard_at + PATIENCE_MS)
			continue;
		fprintf(stderr, "talk: rank %u: nothing after %lu\n", out.rank,
			(unsigned long) t.heard);
		return 5;
	}
	printf("rank %u heard %lu\n", out.rank, (unsigned long) t.heard);
	return 0;
}
