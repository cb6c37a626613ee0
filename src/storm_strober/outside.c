/*
 * outside.c - see outside.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "outside.h"

struct outside_node {
	bool excluded, overdue, deaf; /* deaf: hears no strobe */
	bool told;		      /* that it is deaf */
	bool heard; /* it was a member once, also of an earlier domain */
	char *name;
	int lacks;
	int64_t since;
};

static struct {
	pthread_mutex_t lock;
	struct outside_node *node;
	uint32_t nodes;
	bool changed;
} outside = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void outside_free(struct outside_node *node, uint32_t nodes)
{
	for (uint32_t i = 0; node && i < nodes; i++)
		free(node[i].name);
	free(node);
}

static int outside_compare(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* Locked.  A node may have another number now. */
static int outside_carry(struct outside_node *node, uint32_t nodes)
{
	const char **heard = calloc(outside.nodes + 1, sizeof(*heard));
	uint32_t n = 0;

	if (!heard)
		return ENOMEM;
	for (uint32_t i = 0; i < outside.nodes; i++)
		if (outside.node[i].heard)
			heard[n++] = outside.node[i].name;
	qsort(heard, n, sizeof(*heard), outside_compare);
	for (uint32_t i = 0; i < nodes; i++) {
		const char *key = node[i].name;

		node[i].heard = bsearch(&key, heard, n, sizeof(*heard),
					outside_compare);
	}
	free(heard);
	return 0;
}

int outside_begin(uint32_t nodes, const char *(*name)(uint32_t node))
{
	struct outside_node *node = calloc(nodes + 1, sizeof(*node));
	bool named = node;
	int err;

	for (uint32_t i = 0; named && i < nodes; i++) {
		node[i].name = strdup(name(i));
		named = node[i].name;
	}
	if (!named) {
		outside_free(node, nodes);
		return ENOMEM;
	}
	pthread_mutex_lock(&outside.lock);
	err = outside_carry(node, nodes);
	if (!err) {
		outside_free(outside.node, outside.nodes);
		outside.node = node;
		outside.nodes = nodes;
		outside.changed = true;
	}
	pthread_mutex_unlock(&outside.lock);
	if (err)
		outside_free(node, nodes);
	return err;
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
	outside.changed |= n->deaf != deaf;
	n->excluded = excluded;
	n->overdue = overdue;
	n->deaf = deaf;
	outside.changed |= was != outside_is(n);
	if (!excluded)
		n->lacks = 0;
}

void outside_opened(void)
{
	pthread_mutex_lock(&outside.lock);
	for (uint32_t i = 0; i < outside.nodes; i++)
		outside.node[i].heard |= !outside.node[i].excluded;
	pthread_mutex_unlock(&outside.lock);
}

bool outside_excluded(uint32_t node, int lacks, bool deaf)
{
	bool news = false;

	pthread_mutex_lock(&outside.lock);
	if (node < outside.nodes) {
		struct outside_node *n = &outside.node[node];

		news = !n->excluded || n->lacks != lacks || n->deaf != deaf;
		outside.changed |= news;
		news &= !deaf || !n->told;
		n->told |= deaf;
		outside_set(n, true, false, deaf);
		n->lacks = lacks;
	}
	pthread_mutex_unlock(&outside.lock);
	return news;
}

void outside_overdue(uint32_t node, bool back)
{
	pthread_mutex_lock(&outside.lock);
	if (node < outside.nodes)
		outside_set(&outside.node[node], outside.node[node].excluded,
			    !back, outside.node[node].deaf);
	pthread_mutex_unlock(&outside.lock);
}

bool outside_deaf(uint32_t node, bool deaf, bool over)
{
	bool news = false;

	pthread_mutex_lock(&outside.lock);
	if (node < outside.nodes && !outside.node[node].excluded) {
		struct outside_node *n = &outside.node[node];

		outside_set(n, false, n->overdue, deaf);
		news = n->told != deaf && !(over && n->told);
		if (news)
			n->told = deaf;
	}
	pthread_mutex_unlock(&outside.lock);
	return news;
}

void outside_joined(uint32_t node)
{
	pthread_mutex_lock(&outside.lock);
	if (node < outside.nodes) {
		outside_set(&outside.node[node], false, false, false);
		outside.node[node].told = false;
		outside.node[node].heard = true;
	}
	pthread_mutex_unlock(&outside.lock);
}

int outside_others(struct storm_idset *in)
{
	int err = 0;

	pthread_mutex_lock(&outside.lock);
	for (uint32_t i = 0; i < outside.nodes && !err; i++)
		if (!outside.node[i].excluded && !outside.node[i].overdue)
			err = storm_idset_add(in, i, i);
	pthread_mutex_unlock(&outside.lock);
	if (err)
		storm_idset_clear(in);
	return err;
}

uint32_t outside_get(struct strober_outside *out)
{
	uint32_t n = 0;

	pthread_mutex_lock(&outside.lock);
	for (uint32_t i = 0; i < outside.nodes; i++)
		if (outside_is(&outside.node[i]))
			out[n++] = (struct strober_outside) {
				.node = i,
				.lacks = (uint32_t) outside.node[i].lacks,
				.since = outside.node[i].since,
				.deaf = outside.node[i].deaf,
				.unheard = !outside.node[i].heard,
			};
	pthread_mutex_unlock(&outside.lock);
	return n;
}

bool outside_changed(void)
{
	bool changed;

	pthread_mutex_lock(&outside.lock);
	changed = outside.changed;
	outside.changed = false;
	pthread_mutex_unlock(&outside.lock);
	return changed;
}
