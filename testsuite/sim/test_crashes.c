/*
 * test_crashes.c - every crash of a small domain: a schedule without any chance
 * in it is run again and again, and each node, and the owner, is crashed once
 * after each turn that any of them takes, which is with every message.  Each
 * of these histories is judged.  For 2 to 5 nodes, with and without multicast,
 * in a step domain and in the cluster domain, where the crashed node begins
 * anew and a crashed owner has a successor.
 *
 * usage: test_crashes [NODES]
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"

#define AGAIN \
	(60 * STORM_MS) /* when a node restarts, or an owner has a successor */

static void quiet(enum storm_log_level level, const char *msg)
{
	(void) level;
	(void) msg;
}

/* A message, a word in all segments, and two comparisons, one after another. */
static const struct step script[] = {
	{ .kind = STEP_SEGMENT, .size = 8 },
	{ .kind = STEP_COMPARE, .rel = STORM_EQ, .target = 1, .writes = true },
	{ .kind = STEP_MESSAGE, .size = 300 },
	{ .kind = STEP_COMPARE,
	  .var = 1,
	  .rel = STORM_GE,
	  .operand = 1,
	  .target = 2,
	  .writes = true },
};
#define STEPS (sizeof(script) / sizeof(script[0]))

static void make(struct schedule *s, uint32_t nodes, bool multicast,
		 bool cluster)
{
	struct storm_sim_conf *c = &s->conf;

	memset(s, 0, sizeof(*s));
	c->seed = 1;
	c->nodes = nodes;
	storm_settings_default(&c->set);
	c->set.radix = 2;
	c->set.multicast = c->multicast = multicast;
	c->set.window = 1 << 16;
	c->set.dead_timeout = STORM_SEC;
	c->set.heartbeat = STORM_SEC / 4;
	c->set.socket_buffer = 1 << 20;
	c->latency = 100 * STORM_US;
	c->mtu = 1472;
	c->cluster = cluster;
	s->steps = STEPS;
	s->step = calloc(STEPS, sizeof(*s->step));
	if (!s->step)
		abort();
	memcpy(s->step, script, sizeof(script));
}

/* The owner's number is that of nodes. */
static void crash(struct schedule *s, uint32_t who, uint64_t turns)
{
	bool owner = who == s->conf.nodes;
	struct fault then = { .at = AGAIN,
			      .node = owner ? STORM_NO_NODE : who,
			      .kind = owner ? FAULT_SUCCEED : FAULT_RESTART };

	s->turns = turns;
	s->at_turn = (struct fault) { .node = then.node,
				      .kind = owner ? FAULT_OWNER_CRASH :
						      FAULT_CRASH };
	if (s->conf.cluster)
		faults_add(&s->faults, &then);
}

struct domain {
	uint32_t nodes;
	bool multicast, cluster;
};

/* False: there are not so many turns, or *well is false. */
static bool one(const struct domain *d, uint32_t who, uint64_t turns,
		bool *well)
{
	struct schedule s;
	char why[ORACLE_WHY];
	bool came;

	make(&s, d->nodes, d->multicast, d->cluster);
	crash(&s, who, turns);
	*well = schedule_run(&s, false, why);
	came = !s.turns && s.at_turn.at < AGAIN;
	if (!*well)
		fprintf(stderr,
			"%u nodes, multicast %d, cluster %d, %u crashes after %llu turns: %s\n",
			d->nodes, d->multicast, d->cluster, who + 1,
			(unsigned long long) turns, why);
	schedule_free(&s);
	return *well && came;
}

static bool domain(const struct domain *d, uint64_t *count)
{
	bool well = true;

	for (uint32_t who = 0; well && who <= d->nodes; who++)
		for (uint64_t turns = 1; one(d, who, turns, &well); turns++)
			++*count;
	return well;
}

int main(int argc, char **argv)
{
	uint32_t only = argc > 1 ? (uint32_t) strtoul(argv[1], NULL, 10) : 0;
	uint64_t count = 0;
	bool ok = true;

	storm_log_set(quiet);
	for (uint32_t n = 2; n <= 5; n++)
		for (int kind = 0; kind < 4; kind++) {
			struct domain d = { n, kind & 1, kind & 2 };

			if (!only || only == n)
				ok &= domain(&d, &count);
		}
	printf("%llu crashes%s\n", (unsigned long long) count,
	       ok ? ", no violation" : "");
	return !ok;
}
