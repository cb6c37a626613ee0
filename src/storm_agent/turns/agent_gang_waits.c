/*
 * agent_gang_waits.c - reads how a step's ranks wait, which they tell with
 * --storm-wait (wait_page.h).
 *
 * The step's slurmstepd gives the page to each new agent, before or after it leaves
 * the step's record.  A page cannot shrink, but it is never mapped all the same.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm.h"
#include "src/common/xmalloc.h"

#include "agent_gang.h"
#include "agent_gang_private.h"
#include "src/storm_wait/wait_page.h"

struct gang_waits {
	struct gang_waits *next;
	int fd;
	pid_t root; /* its slurmstepd */
	uint64_t started;
	struct wait_account last;
};

void agent_gang_waits_free(struct gang_waits *w)
{
	if (w)
		close(w->fd);
	xfree(w);
}

void agent_gang_waits_end(struct agent_gang *g)
{
	struct gang_waits *w;

	while ((w = g->accounts)) {
		g->accounts = w->next;
		agent_gang_waits_free(w);
	}
}

/* Steps may end without a record.  An agent that has no descriptor left keeps what it
 * cannot look at. */
static void agent_gang_waits_clear(struct agent_gang *g)
{
	struct gang_waits **p = &g->accounts, *w;

	while ((w = *p)) {
		if (!gang_step_over(w->root, &w->started)) {
			p = &w->next;
		} else {
			*p = w->next;
			agent_gang_waits_free(w);
		}
	}
}

void agent_gang_account(struct agent *a, pid_t root, int fd)
{
	struct agent_gang *g = a->gang;
	struct gang_waits *w;

	if (!g) {
		close(fd);
		return;
	}
	agent_gang_waits_clear(g);
	w = xmalloc(sizeof(*w));
	w->fd = fd;
	w->root = root;
	w->started = gang_step_started(root);
	w->next = g->accounts;
	g->accounts = w;
}

/* NULL: none has come. */
static struct gang_waits *agent_gang_waits_take(struct agent_gang *g,
						const struct gang_step *s)
{
	struct gang_waits **p = &g->accounts, *w;

	for (; (w = *p); p = &w->next) {
		if (!w->started)
			gang_step_over(w->root, &w->started);
		if (w->root == s->root && w->started == s->started)
			break;
	}
	if (w)
		*p = w->next;
	return w;
}

void agent_gang_waits_look(struct agent_gang *g, struct gang_local *l)
{
	struct wait_account now;
	struct gang_waits *w;

	if (!l->waits)
		l->waits = agent_gang_waits_take(g, &l->step);
	w = l->waits;
	if (!w || !wait_page_sum(w->fd, &now))
		return;
	agent_gang_lock(g);
	turns_saw_waits(l->turns, now.waits - w->last.waits,
			now.computed - w->last.computed,
			now.waited - w->last.waited, now.ran - w->last.ran);
	agent_gang_unlock(g);
	w->last = now;
}
