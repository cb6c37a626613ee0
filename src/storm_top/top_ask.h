/*
 * top_ask.h - asks the agents and slurmctld, and keeps what they have said.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TOP_ASK_H
#define STORM_TOP_ASK_H

#include <pthread.h>

#include "src/storm_common/storm_conf.h"
#include "top_layout.h"

#define TOP_WHY 160 /* characters, with the 0 */

struct top_agents {
	bool there;
	struct status_nodes nodes;
	struct status_answer answer;
	struct top_counts counts;
	struct top_rates rates;
	char why[TOP_WHY]; /* the last question's failure, or "" */
	uint64_t at;	   /* ns, CLOCK_MONOTONIC: the answer; or the begin */
	uint64_t all_at;   /* when also those that were silent were asked */
};

struct top_jobs {
	bool there;
	struct jobs jobs;
	char why[TOP_WHY];
	uint64_t at;
};

struct top_known {
	struct storm_conf conf;
	struct status_nodes nodes; /* as they were found; they do not change */
	pthread_mutex_t lock;	   /* protects what follows */
	struct top_agents agents;
	struct top_jobs jobs;
};

/* Find the nodes of this list; NULL: all.  False: it is not possible, which was said. */
bool top_known_init(struct top_known *k, const char *list);
void top_known_fini(struct top_known *k);

/* Ask, in as long as it takes: 18 s at most for the agents, and Slurm's time-outs for
 * slurmctld.  One thread each. */
void top_ask_agents(struct top_known *k);
void top_ask_jobs(struct top_known *k);

/* What is known, for as long as the caller holds the lock.  delay: s, how often it is asked.
 * time: of the clock on the wall, which lasts as long as the view. */
struct top_view top_view_of(const struct top_known *k, double delay,
			    const char *time);

#endif
