/*
 * agent_gang_left.c - removes the groups of steps that have ended.  While
 * processes of a step still die, or live on outside of it, its group stays.  So
 * try again until it has gone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "agent_gang_private.h"

#define TRY_EVERY STORM_SEC

struct gang_left {
	struct gang_left *next;
	char *group;
};

/* A group that is not below a directory of ours is Slurm's. */
static bool agent_gang_left_is_ours(const struct agent_gang *g,
				    const char *group)
{
	size_t base = strlen(g->host.base), idle = strlen(g->host.idle);

	return (base && !strncmp(group, g->host.base, base)) ||
	       (idle && !strncmp(group, g->host.idle, idle));
}

void agent_gang_left_add(struct agent_gang *g, const char *group)
{
	struct gang_left *l;

	if (!agent_gang_left_is_ours(g, group) ||
	    freezer_group_remove(group) != EBUSY)
		return;
	l = xmalloc(sizeof(*l));
	l->group = xstrdup(group);
	l->next = g->left;
	if (!g->left)
		g->left_at = storm_now() + TRY_EVERY;
	g->left = l;
}

static void agent_gang_left_drop(struct gang_left **p)
{
	struct gang_left *l = *p;

	*p = l->next;
	xfree(l->group);
	xfree(l);
}

uint64_t agent_gang_left_try(struct agent_gang *g, uint64_t now)
{
	struct gang_left **p = &g->left;

	if (g->left && now < g->left_at)
		return g->left_at;
	while (*p) {
		if (freezer_group_remove((*p)->group) == EBUSY)
			p = &(*p)->next;
		else
			agent_gang_left_drop(p);
	}
	g->left_at = now + TRY_EVERY;
	return g->left ? g->left_at : STORM_NEVER;
}

void agent_gang_left_end(struct agent_gang *g)
{
	while (g->left)
		agent_gang_left_drop(&g->left);
}
