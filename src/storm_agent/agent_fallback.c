/*
 * agent_fallback.c - see agent_fallback.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "agent_fallback.h"

#define KEPT                                            \
	(sizeof(((struct agent_fallbacks *) 0)->last) / \
	 sizeof(struct agent_fallback))

void agent_fallback_add(struct agent_fallbacks *all,
			const struct agent_fallback *one)
{
	all->last[all->added++ % KEPT] = *one;
	all->count[one->cause]++;
}

static bool agent_fallback_is(const struct agent_fallback *f,
			      const struct agent_fallback_want *w)
{
	return (w->all_users || f->uid == w->uid) &&
	       (!w->which.one ||
		(f->job == w->which.job &&
		 (w->which.any_step || f->step == w->which.step)));
}

unsigned int agent_fallback_find(const struct agent_fallbacks *all,
				 const struct agent_fallback_want *want,
				 const struct agent_fallback **out,
				 unsigned int max)
{
	uint64_t oldest = all->added > KEPT ? all->added - KEPT : 0;
	unsigned int found = 0;

	for (uint64_t i = all->added; i > oldest && found < max; i--) {
		const struct agent_fallback *f = &all->last[(i - 1) % KEPT];

		if (agent_fallback_is(f, want))
			out[found++] = f;
	}
	return found;
}
