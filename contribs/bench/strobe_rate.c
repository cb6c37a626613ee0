/*
 * strobe_rate.c - strobes at a rate, to agents that do nothing but take them.
 *
 *	strobe_rate RATE SECONDS NAME=ADDRESS...
 *
 * An owner opens a domain over these nodes, whose agents must be running, and
 * strobes it at absolute times, with real-time priority where that is allowed.
 * Prints "SENT LATEST LAST", how many and by how many microseconds the latest was
 * late, and the last one.
 * How many have come the agents tell (storm_agent --stats); storm_bench strobe asks them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "node_arg.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/storm.h"

#define BODY 24 /* of a strobe of gang scheduling */

static int fail(const char *what)
{
	fprintf(stderr, "strobe_rate: %s\n", what);
	return 1;
}

static void sleep_until(uint64_t at)
{
	const struct timespec ts = { .tv_sec = (time_t) (at / STORM_SEC),
				     .tv_nsec = (long) (at % STORM_SEC) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
		;
}

static int strobe(storm_domain_t *d, uint64_t rate, uint64_t seconds)
{
	const struct sched_param p = { .sched_priority = 20 };
	const uint8_t body[BODY] = { 0 };
	uint64_t start, due, late = 0, latest = 0, n = rate * seconds;

	prctl(PR_SET_TIMERSLACK, 1);
	sched_setscheduler(0, SCHED_FIFO, &p);
	start = storm_now() + STORM_MS;
	for (uint64_t i = 0; i < n; i++) {
		due = start + i * STORM_SEC / rate;
		sleep_until(due);
		if (!storm_strobe(d, body, sizeof(body)))
			return fail("the domain is closed");
		late = storm_now() - due;
		latest = late > latest ? late : latest;
	}
	printf("%" PRIu64 " %.1f %.1f\n", n, (double) latest / 1e3,
	       (double) late / 1e3);
	return 0;
}

static int run(uint64_t rate, uint64_t seconds, struct storm_domain_conf *conf)
{
	int err, rc;
	storm_domain_t *d = storm_domain_create(conf, &err);

	if (!err)
		err = storm_domain_open(d);
	if (!err)
		err = storm_domain_wait_open(d, NULL);
	if (err)
		fprintf(stderr, "strobe_rate: the domain: %s\n",
			storm_strerror(err));
	rc = err ? 1 : strobe(d, rate, seconds);
	/* what is on its way has come before the domain ends */
	if (!err)
		storm_compare_and_write(d, NULL, STORM_VAR_USER, STORM_EQ, 0,
					NULL, NULL);
	storm_domain_destroy(d);
	return rc;
}

int main(int argc, char **argv)
{
	struct storm_domain_conf conf = { .count = (uint32_t) (argc - 3) };
	struct storm_node *nodes;
	int rc = 2;

	if (argc < 4 || atoi(argv[1]) < 1 || atoi(argv[2]) < 1) {
		fprintf(stderr,
			"usage: strobe_rate RATE SECONDS NAME=ADDRESS...\n");
		return 2;
	}
	storm_settings_default(&conf.set);
	conf.nodes = nodes = calloc(conf.count, sizeof(*nodes));
	for (uint32_t i = 0; nodes && i < conf.count; i++)
		if (!node_of(argv[i + 3], conf.set.port, &nodes[i])) {
			free(nodes);
			return fail("a node is NAME=ADDRESS");
		}
	if (nodes)
		rc = run((uint64_t) atoi(argv[1]), (uint64_t) atoi(argv[2]),
			 &conf);
	free(nodes);
	return rc;
}
