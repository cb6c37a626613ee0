/*
 * udp_rate.c - measure the UDP transport's speed and its losses.
 *
 *	udp_rate recv INTERFACE
 *	udp_rate send INTERFACE RECEIVERS MBYTES [SEGMENT [WINDOW [TO]]]
 *
 * The sender multicasts (or sends to the address TO) numbered segments, never
 * more than WINDOW bytes ahead of the slowest receiver, as the protocol does.
 * Receivers report their progress; at the end each prints one line and exits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/transport/udp/udp.h"

#define RECEIVERS_MAX 64
#define PORT 8390
#define REPORT_EVERY 512  /* segments */
#define CHUNK_BYTES 65280 /* one super-packet */

struct segment { /* the first bytes of each */
	uint32_t seq, total;
	uint16_t port; /* of the sender */
	uint8_t ip[STORM_ADDR_LEN];
};

struct report {
	uint32_t pid, next, got; /* next: highest number seen, plus 1 */
};

static struct storm_udp *udp;
static struct report mine, theirs[RECEIVERS_MAX];
static uint32_t heard, total, reported;
static uint64_t taken; /* bytes */
static uint64_t began, ended;
static struct storm_addr sender;
static bool over;

static int tell(enum storm_class c, const struct storm_addr *to,
		const void *buf, size_t len, size_t seg)
{
	struct storm_transport *t = storm_udp_transport(udp);

	return t->ops->send(t, c, to, buf, len, seg);
}

static void receiver_takes(void *arg, struct storm_rx *rx, size_t n)
{
	struct segment s;

	(void) arg;
	for (size_t i = 0; i < n; i++) {
		memcpy(&s, rx[i].buf, sizeof(s));
		if (!began)
			began = storm_now();
		if (s.seq >= mine.next)
			mine.next = s.seq + 1;
		mine.got++;
		taken += rx[i].len;
		total = s.total;
	}
	memcpy(sender.ip, s.ip, sizeof(sender.ip));
	sender.port = s.port;
	if (mine.next < reported + REPORT_EVERY && mine.next < total)
		return;
	reported = mine.next;
	tell(STORM_CONTROL, &sender, &mine, sizeof(mine), sizeof(mine));
	if (mine.next == total) {
		ended = storm_now();
		over = true;
	}
}

static void sender_takes(void *arg, struct storm_rx *rx, size_t n)
{
	struct report r;
	uint32_t i;

	(void) arg;
	for (size_t k = 0; k < n; k++) {
		memcpy(&r, rx[k].buf, sizeof(r));
		for (i = 0; i < heard && theirs[i].pid != r.pid; i++)
			;
		if (i == heard && heard < RECEIVERS_MAX)
			heard++;
		theirs[i] = r;
	}
}

static void no_stream(void *arg, uint64_t stream, const void *buf, size_t len)
{
	(void) arg, (void) stream, (void) buf, (void) len;
}

static void no_failure(void *arg, uint64_t session, uint32_t node,
		       enum storm_err why, int sys)
{
	(void) arg, (void) session, (void) node, (void) why, (void) sys;
}

static void wait_some(int ms)
{
	struct pollfd p = { storm_udp_fd(udp), POLLIN, 0 };

	poll(&p, 1, ms);
	storm_udp_poll(udp);
}

static uint32_t slowest(uint32_t receivers)
{
	uint32_t low = UINT32_MAX;

	if (heard < receivers)
		return 0;
	for (uint32_t i = 0; i < heard; i++)
		if (theirs[i].next < low)
			low = theirs[i].next;
	return low;
}

static void print(const char *who, uint64_t bytes, uint64_t ns, uint64_t lost)
{
	struct storm_udp_stats st;
	struct rusage ru;

	storm_udp_stats(udp, &st);
	getrusage(RUSAGE_SELF, &ru);
	printf("%s %llu bytes %.1f ms %.2f Gbit/s, lost %llu, socket drops %llu, "
	       "tx %llu in %llu calls, %llu eagain, %llu errors, rx %llu in "
	       "%llu calls, cpu %ld ms\n",
	       who, (unsigned long long) bytes, ns / 1e6, bytes * 8.0 / ns,
	       (unsigned long long) lost, (unsigned long long) st.socket_drops,
	       (unsigned long long) st.tx_datagrams,
	       (unsigned long long) st.tx_calls, (unsigned long long) st.eagain,
	       (unsigned long long) st.send_errors,
	       (unsigned long long) st.rx_datagrams,
	       (unsigned long long) st.rx_calls,
	       (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000 +
		       (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1000);
}

static void send_all(const struct storm_addr *to, uint32_t receivers,
		     uint32_t count, size_t seg, uint32_t window)
{
	uint32_t seq = 0, k, n, chunk = CHUNK_BYTES / seg;
	uint8_t *buf = calloc(chunk, seg);
	struct storm_addr self;

	storm_udp_self(udp, &self);
	while (seq < count) {
		n = count - seq < chunk ? count - seq : chunk;
		if (seq + n > slowest(receivers) + window) {
			wait_some(1000);
			continue;
		}
		for (k = 0; k < n; k++) {
			struct segment s = { .seq = seq + k,
					     .total = count,
					     .port = self.port };

			memcpy(s.ip, self.ip, sizeof(s.ip));
			memcpy(buf + k * seg, &s, sizeof(s));
		}
		if (tell(STORM_BULK, to, buf, n * seg, seg) == -EAGAIN)
			wait_some(1000);
		else
			seq += n;
	}
	free(buf);
}

int main(int argc, char **argv)
{
	struct storm_net_handler h = { .stream = no_stream,
				       .stream_failed = no_failure };
	struct storm_settings set;
	struct storm_addr to;
	uint32_t receivers, count, seg, window;
	uint64_t bytes, lost = 0, start;
	bool sends = argc > 1 && !strcmp(argv[1], "send");
	int err;

	if (argc < (sends ? 5 : 3)) {
		fprintf(stderr, "usage: udp_rate recv IF | send IF RECEIVERS "
				"MBYTES [SEGMENT [WINDOW [TO]]]\n");
		return 2;
	}
	storm_settings_default(&set);
	snprintf(set.interface, sizeof(set.interface), "%s", argv[2]);
	set.port = PORT;
	h.datagrams = sends ? sender_takes : receiver_takes;
	udp = storm_udp_create(&set, sends ? STORM_ROLE_OWNER : STORM_ROLE_NODE,
			       NULL, &h, &err);
	if (!udp)
		return 1;
	if (!sends) {
		mine.pid = getpid();
		printf("ready\n");
		fflush(stdout);
		while (!over)
			wait_some(5000);
		print("recv", taken, ended - began, total - mine.got);
		return 0;
	}
	receivers = atoi(argv[3]);
	seg = argc > 5 ? atoi(argv[5]) : 1424;
	count = atof(argv[4]) * 1e6 / seg;
	window = (argc > 6 ? atof(argv[6]) : 16 << 20) / seg;
	to = set.group;
	to.port = PORT;
	if (argc > 7)
		inet_pton(AF_INET, argv[7], to.ip + 12);
	start = storm_now();
	send_all(&to, receivers, count, seg, window);
	while (slowest(receivers) < count && storm_now() - start < 30e9)
		wait_some(100);
	bytes = (uint64_t) count * seg;
	for (uint32_t i = 0; i < heard; i++)
		lost += count - theirs[i].got;
	print("send", bytes, storm_now() - start, lost);
	storm_udp_destroy(udp);
	return lost > 0;
}
