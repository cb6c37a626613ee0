/*
 * run_layout.c - see run_layout.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdbool.h>
#include <stdlib.h>

#include "run_layout.h"
#include "src/libstorm/base/minmax.h"

/* The tasks that have a place if no node gets more than this. */
static uint64_t run_fill(const uint32_t *cpus, uint32_t nodes, uint32_t most)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < nodes; k++)
		n += storm_min(cpus[k], most);
	return n;
}

uint32_t *run_layout(const uint32_t *cpus, uint32_t nodes, uint32_t tasks)
{
	uint32_t low = 1, high = tasks, *rank;
	uint64_t more;

	if (run_fill(cpus, nodes, 1) < nodes || tasks < nodes ||
	    run_fill(cpus, nodes, tasks) < tasks)
		return NULL;
	rank = malloc(((size_t) nodes + 1) * sizeof(*rank));
	if (!rank)
		return NULL;
	/* the turns that give all nodes a task that can have one */
	while (low < high) {
		uint32_t mid = low + (high - low + 1) / 2;

		if (run_fill(cpus, nodes, mid) <= tasks)
			low = mid;
		else
			high = mid - 1;
	}
	more = tasks - run_fill(cpus, nodes, low);
	rank[0] = 0;
	for (uint32_t k = 0; k < nodes; k++) {
		bool one = more && cpus[k] > low;

		rank[k + 1] =
			rank[k] + (uint32_t) storm_min(cpus[k], low) + one;
		more -= one;
	}
	return rank;
}

uint32_t run_place(const struct storm_idset *nodes, uint32_t node)
{
	uint32_t before = 0;

	for (uint32_t k = 0; k < nodes->count; k++) {
		const struct storm_range *r = &nodes->r[k];

		if (node >= r->first && node <= r->last)
			return before + node - r->first;
		before += r->last - r->first + 1;
	}
	return UINT32_MAX;
}
