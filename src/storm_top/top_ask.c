/*
 * top_ask.c - see top_ask.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "slurm/slurm.h"

#include "src/libstorm/base/clock.h"
#include "src/storm_common/state_keys.h"
#include "src/storm_jobs/jobs_load.h"
#include "src/storm_status/status_begin.h"
#include "top_ask.h"

/* To find that nodes are silent costs seconds.  So those that are known to be are left
 * out for so long. */
#define AGAIN (10 * STORM_SEC)
#define PATIENCE 3.0 /* s after which an answer is late */

bool top_known_init(struct top_known *k, const char *list)
{
	memset(k, 0, sizeof(*k));
	if (!status_begin(list, &k->conf, &k->nodes))
		return false;
	pthread_mutex_init(&k->lock, NULL);
	k->agents.at = k->jobs.at = storm_now();
	status_nodes_copy(&k->nodes, &k->agents.nodes);
	return true;
}

void top_known_fini(struct top_known *k)
{
	status_answer_clear(&k->agents.answer);
	status_nodes_clear(&k->agents.nodes);
	status_nodes_clear(&k->nodes);
	jobs_clear(&k->jobs.jobs);
	pthread_mutex_destroy(&k->lock);
}

/* The nodes to be asked now.  Only this thread changes what it reads of the agents. */
static void top_nodes(const struct top_known *k, uint64_t now,
		      struct top_agents *out)
{
	const struct status_nodes *last = &k->agents.nodes;

	status_nodes_copy(&k->nodes, &out->nodes);
	out->all_at = k->agents.all_at;
	if (!out->all_at || now >= out->all_at + AGAIN) {
		out->all_at = now;
		return;
	}
	for (uint32_t i = 0; i < last->count; i++)
		if (last->node[i].silent) {
			out->nodes.node[i].silent = true;
			out->nodes.node[i].got = last->node[i].got;
		}
}

void top_ask_agents(struct top_known *k)
{
	struct top_agents is = { .there = true }, was;
	uint64_t now = storm_now();
	int err;

	top_nodes(k, now, &is);
	err = status_ask(&is.nodes, &k->conf, STATE_QUERY, &is.answer);
	is.at = storm_now();
	if (!err)
		top_counts_of(&is.nodes, &is.answer, now, is.at, &is.counts);
	pthread_mutex_lock(&k->lock);
	was = k->agents;
	if (!err) {
		top_rates_of(&was.counts, &is.counts, &is.rates);
		k->agents = is;
	} else {
		/* An older answer stays, with its nodes: who is silent is a part
		 * of it. */
		snprintf(k->agents.why, sizeof(k->agents.why), "%s",
			 storm_strerror(err));
		k->agents.all_at = 0;
		was.answer = is.answer;
		if (k->agents.there)
			was.nodes = is.nodes;
		else
			k->agents.nodes = is.nodes;
	}
	pthread_mutex_unlock(&k->lock);
	status_answer_clear(&was.answer);
	status_nodes_clear(&was.nodes);
}

void top_ask_jobs(struct top_known *k)
{
	struct top_jobs is = { .there = true }, was;
	const char *why = jobs_load(&is.jobs);
	struct jobs old;

	is.at = storm_now();
	pthread_mutex_lock(&k->lock);
	was = k->jobs;
	if (!why) {
		k->jobs = is;
		old = was.jobs;
	} else {
		snprintf(k->jobs.why, sizeof(k->jobs.why), "%s", why);
		old = is.jobs;
	}
	pthread_mutex_unlock(&k->lock);
	jobs_clear(&old);
}

/* How old an answer is; 0: it is not late. */
static double top_old(uint64_t at, const char *why, double delay)
{
	double old = (double) (storm_now() - at) / 1e9;

	return *why || old > delay + PATIENCE ? old : 0;
}

struct top_view top_view_of(const struct top_known *k, double delay,
			    const char *time)
{
	const struct top_agents *a = &k->agents;
	const struct top_jobs *j = &k->jobs;

	return (struct top_view) {
		.time = time,
		.port = k->conf.set.port,
		.nodes = &a->nodes,
		.answer = a->there ? &a->answer : NULL,
		.agents_why = *a->why ? a->why : NULL,
		.agents_old = top_old(a->at, a->why, delay),
		.counts = a->counts,
		.rates = a->rates,
		.jobs = j->there ? &j->jobs : NULL,
		.jobs_why = *j->why ? j->why : NULL,
		.jobs_old = top_old(j->at, j->why, delay),
	};
}
