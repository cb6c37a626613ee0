/*
 * neighbour - a bad neighbour: what an ordinary user's job does to others on its
 * node.
 *
 *	neighbour connect	connect to each of root's listeners on the
 *				loopback, as fast as it can
 *	neighbour sleepers N	N processes that sleep
 *	neighbour timer		compute, with a timer that is due every 5 ms
 *	neighbour trace		trace a process that sleeps, for ever
 *
 * It ends with its parent, or by a signal.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define LISTENERS 16
#define BURST 50 /* connections to each, before it looks for new ones */

static void ready(void)
{
	printf("ready\n");
	fflush(stdout);
}

/* Ports of root's listeners on 127.0.0.1. */
static int find_listeners(unsigned int port[LISTENERS])
{
	FILE *f = fopen("/proc/net/tcp", "r");
	unsigned int p, uid;
	char line[512];
	int n = 0;

	while (f && n < LISTENERS && fgets(line, sizeof(line), f))
		if (sscanf(line,
			   " %*u: 0100007F:%4X %*8X:%*4X 0A %*X:%*X %*X:%*X %*X %u",
			   &p, &uid) == 2 &&
		    !uid)
			port[n++] = p;
	if (f)
		fclose(f);
	return n;
}

/* A quarter of the connections stay until the next round. */
static void connect_to(unsigned int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int held[BURST], n = 0;

	for (int i = 0; i < BURST; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

		if (fd < 0)
			break;
		connect(fd, (struct sockaddr *) &to, sizeof(to));
		if (i % 4)
			close(fd);
		else
			held[n++] = fd;
	}
	while (n)
		close(held[--n]);
}

static void do_connect(void)
{
	unsigned int port[LISTENERS];

	ready();
	for (;;) {
		int n = find_listeners(port);

		for (int i = 0; i < n; i++)
			connect_to(port[i]);
		if (!n)
			usleep(500);
	}
}

static void do_sleepers(int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("neighbour: fork");
			exit(1);
		}
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	ready();
	for (;;)
		pause();
}

static void nothing(int sig)
{
	(void) sig;
}

static void do_timer(void)
{
	const struct itimerval often = { .it_interval = { .tv_usec = 5000 },
					 .it_value = { .tv_usec = 5000 } };

	signal(SIGALRM, nothing);
	setitimer(ITIMER_REAL, &often, NULL);
	ready();
	for (volatile unsigned long n = 0;; n++)
		;
}

static void do_trace(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, NULL, NULL)) {
		perror("neighbour: trace");
		exit(1);
	}
	ready();
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "connect"))
		do_connect();
	else if (argc == 3 && !strcmp(argv[1], "sleepers"))
		do_sleepers(atoi(argv[2]));
	else if (argc == 2 && !strcmp(argv[1], "timer"))
		do_timer();
	else if (argc == 2 && !strcmp(argv[1], "trace"))
		do_trace();
	fprintf(stderr, "usage: neighbour connect|sleepers N|timer|trace\n");
	return 2;
}
