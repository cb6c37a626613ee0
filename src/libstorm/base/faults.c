/*
 * faults.c - see faults.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "faults.h"

static bool faults_have(const struct storm_faults *l, uint32_t node)
{
	for (uint32_t i = 0; i < l->count; i++)
		if (l->f[i].node == node)
			return true;
	return false;
}

void storm_faults_add(struct storm_faults *l, uint32_t node, enum storm_err why,
		      int sys)
{
	if (faults_have(l, node))
		return;
	if (l->count == l->room) {
		uint32_t room = l->room ? l->room * 2 : 4;
		void *p = realloc(l->f, room * sizeof(*l->f));

		if (!p)
			return;
		l->f = p;
		l->room = room;
	}
	l->f[l->count++] = (struct storm_fault) { node, why, sys };
}

void storm_faults_outcome(struct storm_faults *l, enum storm_state state,
			  struct storm_outcome *out)
{
	out->state = state;
	out->faults = l->f;
	out->nfaults = out->faults_kept = l->count;
	memset(l, 0, sizeof(*l));
}

void storm_outcome_clear(struct storm_outcome *out)
{
	if (!out)
		return;
	free(out->faults);
	memset(out, 0, sizeof(*out));
}

void storm_outcome_copy(struct storm_outcome *out,
			const struct storm_outcome *from)
{
	size_t n = from->faults_kept * sizeof(*from->faults);

	if (!out)
		return;
	*out = *from;
	out->faults_kept = 0;
	out->faults = n ? malloc(n) : NULL;
	if (out->faults) {
		memcpy(out->faults, from->faults, n);
		out->faults_kept = from->faults_kept;
	}
}
