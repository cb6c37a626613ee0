/*
 * flood.c - an insider without a key sends as much as it may to a port of
 * STORM's: bounded in rate and time.
 *
 *	flood KIND RATE SECONDS ADDRESS...
 *
 * KIND	garbage	 random bytes, random lengths
 *	header	 a header as in doc/wire-format.md, of no session that is open
 *	copy	 the header of strobes that it has heard in the group, and a
 *		 wrong seal; the number rises
 *	owner	 the same, to where the strobes came from
 *	spoof	 as copy, and from the strobes' own address (root)
 *	connect	 TCP connections that are closed at once
 *
 * It prints "ready" before it begins, and at the end how much it sent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORT 8383
#define BATCH 32
#define ROOM 200
#define HEADER 52
#define STROBE 9

static uint8_t buf[BATCH][ROOM];
static struct mmsghdr hdr[BATCH];
static struct iovec iov[BATCH][2];
static uint8_t lead[BATCH][28]; /* spoof: the headers of IP and UDP */
static struct sockaddr_in to[16];
static int ntos;
static unsigned int seed = 7;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void pause_until(double when)
{
	struct timespec ts = { .tv_sec = (time_t) when };

	ts.tv_nsec = (long) ((when - ts.tv_sec) * 1e9);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static void scribble(uint8_t *p, size_t n)
{
	while (n--)
		*p++ = (uint8_t) rand_r(&seed);
}

/* Wait for a strobe in one of the groups.  Its length. */
static size_t listen_for_strobe(uint8_t *out, struct sockaddr_in *from)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), one = 1;
	char text[32];
	size_t len;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	must(!bind(fd, (struct sockaddr *) &sin, sizeof(sin)), "bind");
	for (int i = 0; i < 16; i++) {
		struct ip_mreq m = { .imr_interface.s_addr = INADDR_ANY };

		snprintf(text, sizeof(text), "239.192.83.%d", i);
		inet_pton(AF_INET, text, &m.imr_multiaddr);
		setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m));
	}
	do {
		socklen_t from_len = sizeof(*from);
		ssize_t n =
			recvfrom(fd, out, ROOM, 0, (void *) from, &from_len);

		must(n > 0, "recvfrom");
		len = (size_t) n;
	} while (len <= HEADER || out[1] != STROBE);
	close(fd);
	return len;
}

static void put16(uint8_t *p, unsigned int v)
{
	p[0] = (uint8_t) (v >> 8);
	p[1] = (uint8_t) v;
}

/* As if it came from there.  The kernel adds the checksum. */
static void pretend(int i, const struct sockaddr_in *from, size_t len)
{
	uint8_t *p = lead[i];

	p[0] = 0x45;
	p[8] = 64; /* TTL */
	p[9] = IPPROTO_UDP;
	memcpy(p + 12, &from->sin_addr, 4);
	memcpy(p + 16, &to[i % ntos].sin_addr, 4);
	put16(p + 20, ntohs(from->sin_port));
	put16(p + 22, PORT);
	put16(p + 24, 8 + len);
	iov[i][0].iov_len = sizeof(lead[i]);
}

static int is_copy(const char *kind)
{
	return !strcmp(kind, "copy") || !strcmp(kind, "owner") ||
	       !strcmp(kind, "spoof");
}

static void fill(const char *kind)
{
	uint8_t strobe[ROOM];
	struct sockaddr_in from;
	size_t len = 0;

	if (is_copy(kind))
		len = listen_for_strobe(strobe, &from);
	if (!strcmp(kind, "owner")) {
		to[0] = from;
		ntos = 1;
	}
	for (int i = 0; i < BATCH; i++) {
		size_t n = 68 + (size_t) rand_r(&seed) % (ROOM - 68);

		scribble(buf[i], ROOM);
		if (len) {
			memcpy(buf[i], strobe, HEADER);
			n = len;
		} else if (*kind == 'h') {
			memcpy(buf[i], (uint8_t[]) { 1, 1, 0, 0 }, 4);
		}
		iov[i][0].iov_base = lead[i];
		iov[i][1].iov_base = buf[i];
		iov[i][1].iov_len = n;
		if (!strcmp(kind, "spoof"))
			pretend(i, &from, n);
		hdr[i].msg_hdr.msg_iov = iov[i];
		hdr[i].msg_hdr.msg_iovlen = 2;
		hdr[i].msg_hdr.msg_name = &to[i % ntos];
		hdr[i].msg_hdr.msg_namelen = sizeof(to[0]);
	}
}

/* As if it were the next strobe, and not one of those before. */
static void raise_numbers(unsigned long sent)
{
	for (int i = 0; i < BATCH; i++) {
		uint32_t n = htonl((uint32_t) (sent + i) | 0x40000000);

		memcpy(buf[i] + 40, &n, 4); /* the sequence's low half */
		memcpy(buf[i] + 48, &n, 4); /* the number's */
	}
}

static unsigned long flood(int fd, double rate, double seconds, int copy)
{
	double begun = now(), end = begun + seconds, t;
	unsigned long sent = 0;

	while ((t = now()) < end) {
		if (sent > rate * (t - begun)) {
			pause_until(begun + sent / rate);
			continue;
		}
		if (copy)
			raise_numbers(sent);
		for (int done = 0, n; done < BATCH; done += n) {
			n = sendmmsg(fd, hdr + done, BATCH - done, 0);
			if (n <= 0) /* the port is closed, or a full queue */
				n = 1;
		}
		sent += BATCH;
	}
	return sent;
}

static unsigned long connect_often(double rate, double seconds)
{
	double begun = now(), end = begun + seconds, t;
	unsigned long sent = 0;

	while ((t = now()) < end) {
		struct linger now_gone = { 1, 0 };
		int fd;

		if (sent > rate * (t - begun)) {
			pause_until(begun + sent / rate);
			continue;
		}
		fd = socket(AF_INET, SOCK_STREAM, 0);
		must(fd >= 0, "socket");
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now_gone,
			   sizeof(now_gone));
		if (!connect(fd, (void *) &to[sent % ntos], sizeof(to[0])) &&
		    write(fd, buf, 64) < 0)
			sent--;
		close(fd);
		sent++;
	}
	return sent;
}

int main(int argc, char **argv)
{
	double rate, seconds;
	unsigned long sent;
	int fd;

	must(argc > 4 && argc - 4 < 16, "flood KIND RATE SECONDS ADDRESS...");
	rate = atof(argv[2]);
	seconds = atof(argv[3]);
	must(rate <= 200000 && seconds <= 60, "too much");
	for (int i = 4; i < argc; i++, ntos++) {
		to[ntos].sin_family = AF_INET;
		to[ntos].sin_port = htons(PORT);
		must(inet_pton(AF_INET, argv[i], &to[ntos].sin_addr) == 1,
		     argv[i]);
	}
	if (!strcmp(argv[1], "spoof"))
		fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	else
		fd = socket(AF_INET, SOCK_DGRAM, 0);
	must(fd >= 0, "socket");
	fill(argv[1]);
	printf("ready\n");
	fflush(stdout);
	if (!strcmp(argv[1], "connect"))
		sent = connect_often(rate, seconds);
	else
		sent = flood(fd, rate, seconds, is_copy(argv[1]));
	printf("%lu\n", sent);
	return 0;
}
