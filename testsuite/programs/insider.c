/*
 * insider.c - an ordinary user with a MUNGE credential, who opens sessions.
 *
 *	insider WHAT TO FIRST OWNER NODES COUNT [MEMORY]
 *
 * It sends COUNT OPENs to the agent at the address TO.  Each lists NODES nodes: n1
 * at the address FIRST, n2 at the next one, and so on; the owner's address is OWNER.
 * WHAT is
 *	good	as an owner would
 *	again	each stream twice: the second one is a replay
 *	forged	the list was changed after the credential was made
 *	other	protocol version 99, with a good credential
 *	lie	protocol version 99, with a forged one
 *	name	the OPEN is for node n2, sent to n1
 *	files	with an sbcast credential that is none
 *	unknown	no node but the first one is in slurm.conf
 * MEMORY: the bytes of a transfer to memory that the OPEN announces.
 *
 * It prints how many OPENs were accepted, how many answered with a refusal, and the
 * bytes of these answers; and the reason of the last one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/libstorm/wire/open.h"

#define PORT 8383

static const char *what;
static size_t answered;
static size_t sent;
static enum storm_err last;

static struct storm_node *nodes_of(const char *first, uint32_t count)
{
	struct storm_node *n = calloc(count, sizeof(*n));
	uint32_t ip = ntohl(inet_addr(first));

	for (uint32_t i = 0; i < count; i++) {
		struct in_addr a = { htonl(ip + i) };
		char name[16];

		snprintf(name, sizeof(name), "%s%u",
			 i && !strcmp(what, "unknown") ? "nosuch" : "n", i + 1);
		n[i].name = strdup(name);
		storm_addr_set(&n[i].addr, inet_ntoa(a), PORT);
	}
	return n;
}

static struct storm_open *open_of(const struct storm_node *list, uint32_t count,
				  const char *owner, uint64_t memory)
{
	struct storm_open *o = calloc(1, sizeof(*o));

	storm_random(o->nonce, sizeof(o->nonce));
	o->job_id = 1;
	o->step_het = 0xfffffffe;
	storm_addr_set(&o->owner, owner, 40000);
	storm_addr_set(&o->group, "239.192.83.0", PORT);
	o->radix = 2;
	o->mtu = 1472;
	o->window = 1 << 24;
	o->dead_timeout = o->op_timeout = o->heartbeat = 3600000000000;
	o->epoch = 1;
	o->count = count;
	if (!strcmp(what, "files")) {
		o->authority = malloc(200);
		o->authority_len = 200;
		storm_random(o->authority, 200);
	}
	o->has_begin = memory > 0;
	o->begin = (struct storm_begin) { .op = 1,
					  .size = memory,
					  .to.kind = STORM_TARGET_MEMORY };
	if (storm_nodes_make(&o->nodes, list, count) || storm_open_seal(o, 0))
		exit(2);
	return o;
}

/* True: it was accepted. */
static bool offer(const char *to, const uint8_t *stream, size_t len)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(PORT),
				   .sin_addr.s_addr = inet_addr(to) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), sys;
	uint32_t head = htonl((uint32_t) len);
	uint8_t answer[4096];
	ssize_t n = -1;

	sent += 4 + len;
	if (!connect(fd, (struct sockaddr *) &sin, sizeof(sin)) &&
	    send(fd, &head, 4, MSG_NOSIGNAL) == 4 &&
	    send(fd, stream, len, MSG_NOSIGNAL) == (ssize_t) len)
		n = recv(fd, answer, sizeof(answer), 0);
	close(fd);
	if (n > 0) {
		answered += (size_t) n;
		storm_refusal_unpack(answer, (size_t) n, &last, &sys);
	}
	return !n;
}

int main(int argc, char **argv)
{
	uint32_t count = (uint32_t) atoi(argc > 6 ? argv[5] : "1");
	const struct storm_node *list;
	int good = 0, wanted = argc > 6 ? atoi(argv[6]) : 0;

	if (argc < 7)
		return 2;
	what = argv[1];
	list = nodes_of(argv[3], count);
	for (int i = 0; i < wanted; i++) {
		struct storm_open *o =
			open_of(list, count, argv[4],
				argc > 7 ? strtoull(argv[7], NULL, 10) : 0);
		size_t len;
		uint8_t *p = storm_open_stream(o, !strcmp(what, "name"), &len);

		if (!strcmp(what, "forged") || !strcmp(what, "lie"))
			p[len - 8] ^= 1;
		if (!strcmp(what, "other") || !strcmp(what, "lie"))
			p[5] = 99;
		good += offer(argv[2], p, len);
		if (!strcmp(what, "again"))
			good += offer(argv[2], p, len);
		free(p);
		storm_open_free(o);
	}
	printf("accepted %d, answers of %zu bytes, last: %s\nsent %zu bytes\n",
	       good, answered, storm_strerror(last), sent);
	return 0;
}
