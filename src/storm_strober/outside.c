/*
 * outside.c - see outside.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "outside.h"

struct outside_node {
	bool excluded, overdue, deaf; /* deaf: hears no strobe */
	bool told;		      /* that it is deaf */
	int lacks;
	int64_t since;
};

static struct {
	pthread_mutex_t lock;
	struct outside_node *node;
	uint32_t nodes;
	bool changed;
} g = { .lock = PTHREAD_MUTEX_INITIALIZER };

int outside_begin(uint32_t nodes)
{
	struct outside_node *node = calloc(nodes + 1, sizeof(*node));

	if (!node)
		return ENOMEM;
	pthread_mutex_lock(&g.lock);
	free(g.node);
	g.node = node;
	g.nodes = nodes;
	g.changed = true;
	pthread_mutex_unlock(&g.lock);
	return 0;
}

static bool outside_is(const struct outside_node *n)
{
	return n->excluded || n->overdue || n->deaf;
}

static void outside_set(struct outside_node *n, bool excluded, bool overdue,
			bool deaf)
{
	bool was = outside_is(n);

	if (!was)
		n->since = time(NULL);
	g.changed |= n->deaf != deaf;
	n->excluded = excluded;
	n->overdue = overdue;
	n->deaf = deaf;
	g.changed |= was != outside_is(n);
	if (!excluded)
		n->lacks = 0;
}

bool outside_excluded(uint32_t node, int lacks, bool deaf)
{
	bool news = false;

	pthread_mutex_lock(&g.lock);
	if (node < g.nodes) {
		struct outside_node *n = &g.node[node];

		news = !n->excluded || n->lacks != lacks || n->deaf != deaf;
		g.changed |= news;
		news &= !deaf || !n->told;
		n->told |= deaf;
		outside_set(n, true, false, deaf);
		n->lacks = lacks;
	}
	pthread_mutex_unlock(&g.lock);
	return news;
}

void outside_overdue(uint32_t node, bool back)
{
	pthread_mutex_lock(&g.lock);
	if (node < g.nodes)
		outside_set(&g.node[node], g.node[node].excluded, !back,
			    g.node[node].deaf);
	pthread_mutex_unlock(&g.lock);
}

bool outside_deaf(uint32_t node, bool deaf, bool over)
{
	bool news = false;

	pthread_mutex_lock(&g.lock);
	if (node < g.nodes && !g.node[node].excluded) {
		struct outside_node *n = &g.node[node];

		outside_set(n, false, n->overdue, deaf);
		news = n->told != deaf && !(over && n->told);
		if (news)
			n->told = deaf;
	}
	pthread_mutex_unlock(&g.lock);
	return news;
}

void outside_joined(uint32_t node)
{
	pthread_mutex_lock(&g.lock);
	if (node < g.nodes) {
		outside_set(&g.node[node], false, false, false);
		g.node[node].told = false;
	}
	pthread_mutex_unlock(&g.lock);
}

int outside_others(struct storm_idset *in)
{
	int err = 0;

	pthread_mutex_lock(&g.lock);
	for (uint32_t i = 0; i < g.nodes && !err; i++)
		if (!g.node[i].excluded && !g.node[i].overdue)
			err = storm_idset_add(in, i, i);
	pthread_mutex_unlock(&g.lock);
	if (err)
		storm_idset_clear(in);
	return err;
}

uint32_t outside_get(struct strober_outside *out)
{
	uint32_t n = 0;

	pthread_mutex_lock(&g.lock);
	for (uint32_t i = 0; i < g.nodes; i++)
		if (outside_is(&g.node[i]))
			out[n++] = (struct strober_outside) {
				.node = i,
				.lacks = (uint32_t) g.node[i].lacks,
				.since = g.node[i].since,
				.deaf = g.node[i].deaf,
			};
	pthread_mutex_unlock(&g.lock);
	return n;
}

bool outside_changed(void)
{
	bool changed;

	pthread_mutex_lock(&g.lock);
	changed = g.changed;
	g.changed = false;
	pthread_mutex_unlock(&g.lock);
	return changed;
}
