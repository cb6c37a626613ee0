/*
 * load.c - load a host's processors or its network while something is measured.
 *
 *	load spin [THREADS]		a loop in each thread (default: each CPU)
 *	load talk PEER [RATE]		messages to the host PEER, which runs it, too
 *
 * talk also takes what comes from any peer.  RATE: of messages of 64 KiB, a second;
 * without it they follow one another as fast as the network takes them.  Each
 * prints "ready" once it loads, and runs until a signal ends it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORT "8389"
#define MESSAGE (64 << 10)
#define TRIES 1000 /* to reach a peer, 10 ms each */

static char message[MESSAGE];

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static void ready(void)
{
	printf("ready\n");
	fflush(stdout);
}

static void start(void *(*main)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, main, arg))
		exit(fail("load: a thread"));
	pthread_detach(thread);
}

/* -------------------------------------------------------------- processors --- */

static void *spin_main(void *arg)
{
	volatile bool spins =
		true; /* the compiler must not take the loop away */

	while (spins)
		;
	return arg;
}

static int spin(long threads)
{
	for (long i = 1; i < threads; i++)
		start(spin_main, NULL);
	ready();
	spin_main(NULL);
	return 0;
}

/* ----------------------------------------------------------------- network --- */

/* The socket of a peer, or our own that peers connect to: -1 if there is none. */
static int tcp_socket(const char *host)
{
	const struct addrinfo hints = {
		.ai_family = AF_INET,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = host ? 0 : AI_PASSIVE,
	};
	struct addrinfo *a;
	int fd, one = 1;
	bool ok;

	if (getaddrinfo(host, PORT, &hints, &a))
		return -1;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	ok = host ? !connect(fd, a->ai_addr, a->ai_addrlen) :
		    !bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, 64);
	freeaddrinfo(a);
	if (ok)
		return fd;
	close(fd);
	return -1;
}

static void *take_main(void *arg)
{
	static __thread char buf[MESSAGE];
	int fd = *(int *) arg;

	free(arg);
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
	return NULL;
}

static void *listen_main(void *arg)
{
	const int *listener = arg;

	for (;;) {
		int *fd = malloc(sizeof(*fd));

		if (!fd || (*fd = accept(*listener, NULL, NULL)) < 0)
			exit(fail("load: accept"));
		start(take_main, fd);
	}
}

static bool write_all(int fd)
{
	for (size_t n = 0; n < MESSAGE;) {
		ssize_t took = write(fd, message + n, MESSAGE - n);

		if (took <= 0)
			return false;
		n += (size_t) took;
	}
	return true;
}

static int talk(const char *peer, long rate)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	struct timespec next;
	int fd = -1, listener = tcp_socket(NULL);

	if (listener < 0)
		return fail("load: listen");
	start(listen_main, &listener);
	for (int i = 0; fd < 0 && i < TRIES; i++) {
		fd = tcp_socket(peer);
		if (fd < 0)
			nanosleep(&pause, NULL);
	}
	if (fd < 0)
		return fail("load: the peer");
	ready();
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (write_all(fd)) {
		if (!rate)
			continue;
		next.tv_nsec += 1000000000 / rate;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return fail("load: the peer has ended");
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	long number = argc > 3 ? atol(argv[3]) : 0;

	if (!strcmp(kind, "spin") && argc <= 3)
		return spin(argc > 2 ? atol(argv[2]) :
				       sysconf(_SC_NPROCESSORS_ONLN));
	if (!strcmp(kind, "talk") && (argc == 3 || argc == 4) && number >= 0)
		return talk(argv[2], number);
	fprintf(stderr, "usage: load spin [THREADS]\n"
			"       load talk PEER [RATE]\n");
	return 2;
}
