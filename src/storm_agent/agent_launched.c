/*
 * agent_launched.c - see agent_launched.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "agent_launched.h"

static uint64_t launched_oldest(const struct agent_launches *all)
{
	return all->added > AGENT_LAUNCHED ? all->added - AGENT_LAUNCHED : 0;
}

static bool launched_same(const struct agent_launched *x,
			  const struct agent_launched *y)
{
	return x->uid == y->uid && x->job == y->job && x->step == y->step &&
	       x->het == y->het;
}

static void launched_count(struct agent_launches *all, uint32_t took)
{
	static const uint32_t end[LAUNCH_TOOKS - 1] = LAUNCH_TOOK_ENDS;
	unsigned int i = 0;

	while (i < LAUNCH_TOOKS - 1 && took > end[i] * 1000)
		i++;
	all->took[i]++;
	all->took_us += took;
}

void agent_launched_add(struct agent_launches *all,
			const struct agent_launched *one, uint32_t took)
{
	for (uint64_t i = all->added; i > launched_oldest(all); i--) {
		if (!launched_same(&all->last[(i - 1) % AGENT_LAUNCHED], one))
			continue;
		for (; i < all->added; i++) /* it becomes the newest */
			all->last[(i - 1) % AGENT_LAUNCHED] =
				all->last[i % AGENT_LAUNCHED];
		all->last[(i - 1) % AGENT_LAUNCHED] = *one;
		return;
	}
	all->last[all->added++ % AGENT_LAUNCHED] = *one;
	launched_count(all, took);
}

static bool launched_is(const struct agent_launched *l,
			const struct agent_launched_want *w)
{
	return (w->all_users || l->uid == w->uid) &&
	       (!w->which.one ||
		(l->job == w->which.job &&
		 (w->which.any_step || l->step == w->which.step)));
}

unsigned int agent_launched_find(const struct agent_launches *all,
				 const struct agent_launched_want *want,
				 const struct agent_launched **out,
				 unsigned int max)
{
	unsigned int found = 0;

	for (uint64_t i = all->added; i > launched_oldest(all) && found < max;
	     i--) {
		const struct agent_launched *l =
			&all->last[(i - 1) % AGENT_LAUNCHED];

		if (launched_is(l, want))
			out[found++] = l;
	}
	return found;
}
