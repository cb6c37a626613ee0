/*
 * snapshot.c - compare snapshots: see snapshot.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <string.h>

#include "slurm/slurm.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "snapshot.h"
#include "src/libstorm/base/idset.h"

void snapshot_clear(struct snapshot *s)
{
	for (uint32_t i = 0; i < s->nzones; i++) {
		storm_idset_clear(&s->zones[i].nodes);
		xfree(s->zones[i].partitions);
	}
	for (uint32_t i = 0; i < s->nnodes; i++) {
		xfree(s->nodes[i].name);
		xfree(s->nodes[i].place);
	}
	for (uint32_t i = 0; i < s->njobs; i++) {
		storm_idset_clear(&s->jobs[i].columns);
		storm_idset_clear(&s->jobs[i].nodes);
	}
	xfree(s->zones);
	xfree(s->nodes);
	xfree(s->jobs);
	memset(s, 0, sizeof(*s));
}

bool snapshot_same_set(const struct storm_idset *a, const struct storm_idset *b)
{
	return a->count == b->count &&
	       (!a->count || !memcmp(a->r, b->r, a->count * sizeof(*a->r)));
}

bool snapshot_same_nodes(const struct snapshot *a, const struct snapshot *b)
{
	if (a->nnodes != b->nnodes)
		return false;
	for (uint32_t i = 0; i < a->nnodes; i++)
		if (xstrcmp(a->nodes[i].name, b->nodes[i].name) ||
		    xstrcmp(a->nodes[i].place, b->nodes[i].place) ||
		    a->nodes[i].port != b->nodes[i].port ||
		    (a->nodes[i].zone == SNAPSHOT_NO_ZONE) !=
			    (b->nodes[i].zone == SNAPSHOT_NO_ZONE))
			return false;
	return true;
}

bool snapshot_same_quanta(const struct snapshot *a, const struct snapshot *b)
{
	if (a->nzones != b->nzones)
		return false;
	for (uint32_t i = 0; i < a->nzones; i++)
		if (a->zones[i].quantum != b->zones[i].quantum)
			return false;
	return true;
}

bool snapshot_same_layout(const struct snapshot *a, const struct snapshot *b)
{
	if (a->nzones != b->nzones || !snapshot_same_nodes(a, b))
		return false;
	for (uint32_t i = 0; i < a->nzones; i++)
		if (a->zones[i].columns != b->zones[i].columns ||
		    a->zones[i].policy != b->zones[i].policy ||
		    !snapshot_same_set(&a->zones[i].nodes, &b->zones[i].nodes))
			return false;
	for (uint32_t i = 0; i < a->nnodes; i++)
		if (a->nodes[i].zone != b->nodes[i].zone ||
		    a->nodes[i].column != b->nodes[i].column ||
		    a->nodes[i].cores != b->nodes[i].cores)
			return false;
	return true;
}
