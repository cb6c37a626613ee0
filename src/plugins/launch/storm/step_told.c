/*
 * step_told.c - see step_told.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "src/common/slurm_xlator.h"

#include "src/common/macros.h"
#include "src/common/slurm_protocol_defs.h"
#include "src/common/xmalloc.h"

#include "session.h"
#include "step_told.h"

bool step_told_nothing(uint32_t rc)
{
	return rc == SLURM_UNEXPECTED_MSG_ERROR ||
	       rc == SLURM_COMMUNICATIONS_CONNECTION_ERROR ||
	       rc == SLURM_COMMUNICATIONS_SEND_ERROR ||
	       rc == SLURM_COMMUNICATIONS_RECEIVE_ERROR ||
	       rc == SLURM_COMMUNICATIONS_SHUTDOWN_ERROR;
}

/* ------------------------------------------------------- the domain's thread --- */

void step_told_reported(struct storm_session *s, const struct storm_report *r)
{
	struct step_signals *g = &s->signals;
	uint32_t n;

	slurm_mutex_lock(&s->lock);
	if (r->code >> 16 == (g->order & 0xffff)) {
		for (uint32_t i = 0; i < r->ids.count; i++) {
			for (n = r->ids.r[i].first;
			     n <= r->ids.r[i].last && n < g->nodes; n++) {
				if (g->told[n] != TOLD_AWAITS)
					continue;
				g->told[n] = TOLD_ANSWERED;
				g->rc[n] = r->code & 0xffff;
				g->pending--;
			}
		}
	}
	slurm_cond_broadcast(&s->cond);
	slurm_mutex_unlock(&s->lock);
}

void step_told_lost(struct storm_session *s, uint32_t node)
{
	struct step_signals *g = &s->signals;

	if (node >= g->nodes)
		return;
	if (g->told[node] == TOLD_AWAITS)
		g->pending--;
	g->told[node] = TOLD_LOST;
}

/* ------------------------------------------------------- the step's own thread --- */

void step_told_open(struct storm_session *s)
{
	struct step_signals *g = &s->signals;

	slurm_mutex_lock(&s->lock);
	g->nodes = s->domain->count;
	g->told = xcalloc(g->nodes, sizeof(*g->told));
	g->rc = xcalloc(g->nodes, sizeof(*g->rc));
	for (uint32_t i = 0; i < s->nfaults; i++)
		step_told_lost(s, s->faults[i].node);
	g->open = true;
	slurm_mutex_unlock(&s->lock);
}

void step_told_unstick(struct step_signals *g)
{
	storm_event_destroy(g->stuck);
	g->stuck = NULL;
	xfree(g->stuck_buf);
}

void step_told_close(struct storm_session *s)
{
	struct step_signals *g = &s->signals;

	slurm_mutex_lock(&s->lock);
	g->open = false;
	slurm_cond_broadcast(&s->cond);
	while (g->casting)
		slurm_cond_wait(&s->cond, &s->lock);
	g->nodes = 0;
	slurm_mutex_unlock(&s->lock);
	step_told_unstick(g);
	xfree(g->told);
	xfree(g->rc);
}
