/*
 * bare_launch.c - how fast a launch could be with launchers that wait: no protocol and
 * no safety.  A yardstick for storm run; its floor is one for storm each, too.
 *
 *	bare_launch serve GROUP PORT INTERFACE_IP	on each node: for each
 *		datagram spawn true, wait for it, answer
 *	bare_launch launch GROUP PORT INTERFACE_IP N	one datagram to all, N answers:
 *		microseconds
 *	bare_launch floor N [PROGRAM [WORDS]]		N times posix_spawn of true, or of
 *		PROGRAM, two at a time: what the machine itself needs, in microseconds
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"

#define REQUEST 1400 /* bytes, as a launch with its environment has at least */
#define PATIENCE 2   /* s for the answers */
#define TRIES 100

extern char **environ;

static char *bare_true[] = { (char *) "/bin/true", NULL };

static void bare_spawn(char **argv)
{
	pid_t pid;

	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ))
		exit(1);
}

static int bare_floor(unsigned int n, char **argv)
{
	uint64_t begun = storm_now();
	unsigned int running = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (running == 2) {
			wait(NULL);
			running--;
		}
		bare_spawn(argv);
		running++;
	}
	while (wait(NULL) > 0)
		;
	printf("%llu\n", (unsigned long long) (storm_now() - begun) / 1000);
	return 0;
}

static int bare_socket(struct sockaddr_in *group, char **argv)
{
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), one = 1;
	struct in_addr from;

	*group = (struct sockaddr_in) { .sin_family = AF_INET };
	if (s < 0 || inet_pton(AF_INET, argv[2], &group->sin_addr) != 1 ||
	    inet_pton(AF_INET, argv[4], &from) != 1)
		exit(1);
	group->sin_port = htons((uint16_t) atoi(argv[3]));
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(s, IPPROTO_IP, IP_MULTICAST_IF, &from, sizeof(from));
	return s;
}

static int bare_serve(char **argv)
{
	struct sockaddr_in group, any = { .sin_family = AF_INET }, from;
	int s = bare_socket(&group, argv);
	struct ip_mreq m = { .imr_multiaddr = group.sin_addr };
	char buf[REQUEST];

	inet_pton(AF_INET, argv[4], &m.imr_interface);
	any.sin_port = group.sin_port;
	if (bind(s, (struct sockaddr *) &any, sizeof(any)) ||
	    setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m)))
		return 1;
	for (;;) {
		socklen_t len = sizeof(from);

		if (recvfrom(s, buf, sizeof(buf), 0, (struct sockaddr *) &from,
			     &len) < 1)
			continue;
		bare_spawn(bare_true);
		wait(NULL);
		sendto(s, buf, 8, 0, (struct sockaddr *) &from, len);
	}
}

/* False: not all have answered. */
static bool bare_once(int s, const struct sockaddr_in *group, unsigned int n)
{
	char buf[REQUEST] = "";

	if (sendto(s, buf, sizeof(buf), 0, (const struct sockaddr *) group,
		   sizeof(*group)) < 0)
		return false;
	while (n)
		if (recv(s, buf, sizeof(buf), 0) < 0)
			return false;
		else
			n--;
	return true;
}

static int bare_launch(char **argv)
{
	struct timeval limit = { .tv_sec = PATIENCE };
	unsigned int n = (unsigned int) atoi(argv[5]);
	struct sockaddr_in group;
	int s = bare_socket(&group, argv);

	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	for (int i = 0; i < TRIES; i++) {
		uint64_t begun = storm_now();

		if (!bare_once(s, &group, n))
			continue; /* not all of them listen yet */
		printf("%llu\n",
		       (unsigned long long) (storm_now() - begun) / 1000);
		return 0;
	}
	fprintf(stderr, "bare_launch: %u nodes do not answer\n", n);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && !strcmp(argv[1], "floor"))
		return bare_floor((unsigned int) atoi(argv[2]),
				  argc > 3 ? argv + 3 : bare_true);
	if (argc == 5 && !strcmp(argv[1], "serve"))
		return bare_serve(argv);
	if (argc == 6 && !strcmp(argv[1], "launch"))
		return bare_launch(argv);
	fputs("bare_launch: see the head of bare_launch.c\n", stderr);
	return 2;
}
