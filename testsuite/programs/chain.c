/*
 * chain - the strong plain rival: a pipelined TCP chain without any check.
 *
 *	chain node PORT OUT [NEXT]	receive, write to OUT, pass on to NEXT
 *	chain root PORT FILE FIRST	send FILE, wait for the end of the chain
 *
 * Each host passes a block on before it writes it, so the file flows through
 * the whole row at link speed.  The end of the chain closes first, and the
 * closing travels back to the root: all have written by then.  There is no
 * authentication, no verification and no recovery: the benchmark shows what
 * those cost us.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 65536

static void die(const char *what)
{
	fprintf(stderr, "chain: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void put(int fd, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = write(fd, buf, len);

		if (n <= 0)
			die("write");
		buf += n;
		len -= n;
	}
}

static int dial(const char *ip, int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port) };
	struct timespec pause = { .tv_nsec = 5000000 };
	int one = 1, fd;

	if (inet_pton(AF_INET, ip, &to.sin_addr) != 1)
		die(ip);
	for (int tries = 0;; tries++) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			die("socket");
		if (!connect(fd, (struct sockaddr *) &to, sizeof(to)))
			break;
		close(fd);
		if (errno != ECONNREFUSED || tries > 1000)
			die("connect");
		nanosleep(&pause, NULL);
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* Everything is sent: close our direction, wait for theirs. */
static void finish(int fd)
{
	char c;

	shutdown(fd, SHUT_WR);
	if (read(fd, &c, 1) < 0)
		die("read");
	close(fd);
}

static void root(int port, const char *file, const char *first)
{
	static char buf[BLOCK];
	int in = open(file, O_RDONLY | O_CLOEXEC), out;
	ssize_t n;

	if (in < 0)
		die(file);
	out = dial(first, port);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		put(out, buf, n);
	if (n < 0)
		die(file);
	finish(out);
}

static void node(int port, const char *file, const char *next)
{
	static char buf[BLOCK];
	struct sockaddr_in me = { .sin_family = AF_INET,
				  .sin_port = htons(port) };
	int one = 1, ls, in, out = -1, fd;
	ssize_t n;

	ls = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (ls < 0)
		die("socket");
	setsockopt(ls, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(ls, (struct sockaddr *) &me, sizeof(me)) || listen(ls, 4))
		die("bind");
	if (next)
		out = dial(next, port);
	in = accept4(ls, NULL, NULL, SOCK_CLOEXEC);
	if (in < 0)
		die("accept");
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (fd < 0)
		die(file);
	while ((n = read(in, buf, sizeof(buf))) > 0) {
		if (out >= 0)
			put(out, buf, n);
		put(fd, buf, n);
	}
	if (n < 0)
		die("read");
	close(fd);
	if (out >= 0)
		finish(out);
	close(in);
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "root"))
		root(atoi(argv[2]), argv[3], argv[4]);
	else if (argc >= 4 && argc <= 5 && !strcmp(argv[1], "node"))
		node(atoi(argv[2]), argv[3], argc == 5 ? argv[4] : NULL);
	else {
		fprintf(stderr, "usage: chain root PORT FILE FIRST\n"
				"       chain node PORT OUT [NEXT]\n");
		return 2;
	}
	return 0;
}
