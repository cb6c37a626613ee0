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
	bool excluded, overdue;
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

static void outside_set(uint32_t node, bool excluded, bool overdue)
{
	struct outside_node *n = &g.node[node];

	if (!n->excluded && !n->overdue)
		n->since = time(NULL);
	g.changed |= (n->excluded || n->overdue) != (excluded || overdue);
	n->excluded = excluded;
	n->overdue = overdue;
	if (!excluded)
		n->lacks = 0;
}

bool outside_excluded(uint32_t node, int lacks)
{
	bool news = false;

	pthread_mutex_lock(&g.lock);
	if (node < g.nodes) {
		struct outside_node *n = &g.node[node];

		news = !n->excluded || n->lacks != lacks;
		outside_set(node, true, false);
		n->lacks = lacks;
		g.changed |= news;
	}
	pthread_mutex_unlock(&g.lock);
	return news;
}

void outside_overdue(uint32_t node, bool back)
{
	pthread_mutex_lock(&g.lock);
	if (node < g.nodes)
		outside_set(node, g.node[node].excluded, !back);
	pthread_mutex_unlock(&g.lock);
}

void outside_joined(uint32_t node)
{
	pthread_mutex_lock(&g.lock);
	if (node < g.nodes)
		outside_set(node, false, false);
	pthread_mutex_unlock(&g.lock);
}

uint32_t outside_get(struct strober_outside *out)
{
	uint32_t n = 0;

	pthread_mutex_lock(&g.lock);
	for (uint32_t i = 0; i < g.nodes; i++)
		if (g.node[i].excluded || g.node[i].overdue)
			out[n++] = (struct strober_outside) {
				.node = i,
				.lacks = (uint32_t) g.node[i].lacks,
				.since = g.node[i].since
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
