/*
 * rc_peer.c - one end of a reliable queue pair, for machines that die.
 *
 *	rc_peer listen			takes what comes, for ever
 *	rc_peer send ADDRESS		sends there, a datagram each 5 ms
 *
 * Each says what happens to it, a line each: "ready", "got 100" (and each
 * hundred more), "connected", "lost".  A listener that is sent something out of
 * order exits 1.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "verbs_rc.h"

#define PORT 7000
#define LEN 256

struct peer {
	struct storm_rc *rc;
	uint32_t next, got;
	bool begun;
};

static void on_datagrams(void *arg, struct storm_rx *rx, size_t n)
{
	struct peer *p = arg;
	uint32_t number;

	for (size_t i = 0; i < n; i++) {
		memcpy(&number, rx[i].buf, sizeof(number));
		/* a sender that is new begins at 0 */
		if (rx[i].len != LEN || (p->begun && number &&
					 number != p->next)) {
			printf("got %u for %u\n", number, p->next);
			exit(1);
		}
		p->begun = true;
		p->next = number + 1;
		if (++p->got % 100 == 0)
			printf("got %u\n", p->got);
	}
}

static void wait_and_poll(struct peer *p, int ms)
{
	struct pollfd fd = { .fd = storm_rc_fd(p->rc), .events = POLLIN };

	poll(&fd, 1, ms);
	storm_rc_poll(p->rc);
}

static void send_for_ever(struct peer *p, const char *address)
{
	struct storm_rc_stats s;
	struct storm_addr to;
	uint8_t buf[LEN] = "";
	uint64_t connected = 0, failed = 0;
	uint32_t number = 0;

	if (storm_addr_set(&to, address, PORT))
		exit(2);
	for (;;) {
		memcpy(buf, &number, sizeof(number));
		if (storm_rc_send(p->rc, STORM_CONTROL, &to, buf, LEN, LEN) == LEN)
			number++;
		storm_rc_stats(p->rc, &s);
		if (connected && !s.out) {
			puts("lost");
			connected = number = 0;
			failed = s.connected;
		} else if (!connected && s.connected > failed) {
			puts("connected");
			connected = s.connected;
		}
		wait_and_poll(p, 5);
	}
}

int main(int argc, char **argv)
{
	const char *self = getenv("RXE_ADDR");
	bool sends = argc == 3 && !strcmp(argv[1], "send");
	struct peer p = { .next = 0 };
	struct storm_net_handler h = { .datagrams = on_datagrams, .arg = &p };
	struct storm_rc_conf conf;
	int err;

	if (!self || !(sends || (argc == 2 && !strcmp(argv[1], "listen")))) {
		fputs("usage: RXE_ADDR=... rc_peer listen | send ADDRESS\n",
		      stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	storm_rc_default(&conf);
	conf.busy = 1;
	if (storm_addr_set(&conf.self, self, PORT))
		return 2;
	p.rc = storm_rc_create(&conf, &h, &err);
	if (!p.rc)
		return 1;
	puts("ready");
	if (sends)
		send_for_ever(&p, argv[2]);
	for (;;)
		wait_and_poll(&p, -1);
}
