/*
 * shares.c - the account of each job's time: see shares.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <string.h>

#include "slurm/slurm.h"
#include "src/common/xmalloc.h"

#include "shares.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/sorted.h"

void shares_clear(struct shares *s)
{
	xfree(s->job);
	xfree(s->node);
	memset(s, 0, sizeof(*s));
}

static uint64_t shares_job_id(const void *share)
{
	return ((const struct share *) share)->job_id;
}

/* The index where the job is, or belongs. */
static uint32_t shares_find(const struct shares *s, uint32_t job_id)
{
	return storm_sorted_at(s->job, s->njobs, sizeof(*s->job), job_id,
			       shares_job_id);
}

static struct share *shares_lookup(const struct shares *s, uint32_t job_id)
{
	uint32_t i = shares_find(s, job_id);

	return i < s->njobs && s->job[i].job_id == job_id ? &s->job[i] : NULL;
}

static struct share *shares_insert(struct shares *s, uint32_t job_id)
{
	uint32_t at = shares_find(s, job_id);

	if (s->njobs == s->room) {
		s->room = s->room * 2 + 64;
		xrecalloc(s->job, s->room, sizeof(*s->job));
	}
	memmove(s->job + at + 1, s->job + at,
		(s->njobs - at) * sizeof(*s->job));
	s->njobs++;
	s->job[at] = (struct share) { .job_id = job_id, .fresh = true };
	return &s->job[at];
}

static void shares_take_job(struct shares *s, const struct plan *p,
			    const struct snapshot_job *j)
{
	const struct matrix *m = p->matrix[j->zone];
	const struct storm_idset *slots = plan_slots(p, j);
	struct share *x = shares_lookup(s, j->job_id);

	if (!x && !slots && !j->held)
		return;
	if (!x)
		x = shares_insert(s, j->job_id);
	x->weight = j->weight;
	x->by_owner |= j->held && !j->by_admin;
	x->slots = slots ? (uint32_t) storm_idset_size(slots) : !j->held;
	x->cycle = slots ? matrix_cycle(m) : 1;
	x->slot = slots ? slots->r[0].first : 0;
	x->round = slots ? matrix_round(m, j->gang) : 1;
	x->quantum = p->now.zones[j->zone].quantum;
	for (uint32_t i = 0; slots && i < j->nodes.count; i++)
		for (uint32_t n = j->nodes.r[i].first; n <= j->nodes.r[i].last;
		     n++)
			s->node[n].jobs++;
}

/* With other nodes the counts of missed strobes start again. */
static void shares_take_nodes(struct shares *s, const struct plan *p)
{
	if (s->nnodes != p->now.nnodes) {
		xfree(s->node);
		s->nnodes = p->now.nnodes;
		s->node = xcalloc(s->nnodes + 1, sizeof(*s->node));
	}
	for (uint32_t i = 0; i < s->nnodes; i++)
		s->node[i].jobs = 0;
}

/* The strober counts from the time at which a job enters its map.  So its count
 * restarts after a suspend, and with another strober. */
static void shares_account(struct share *x, const struct strober_given *g)
{
	if (g->ns < x->counted) {
		x->had_before += x->counted;
		x->waited_before += x->waited_counted;
		x->waited_counted = 0;
	}
	if (x->by_owner && g->waited > x->waited_counted)
		x->own += g->waited - x->waited_counted;
	x->by_owner = false;
	x->counted = g->ns;
	x->waited_counted = g->waited;
	x->had = x->had_before + g->ns;
	x->waited = x->waited_before + g->waited - x->own;
}

uint64_t shares_wait_most(uint64_t limit, uint32_t others, uint32_t weight,
			  uint32_t heaviest)
{
	return limit * others * heaviest / (weight ? weight : 1);
}

void shares_update(struct shares *s, const struct plan *p,
		   const struct strober_given *given, uint32_t n)
{
	shares_take_nodes(s, p);
	for (uint32_t i = 0; i < s->njobs; i++) {
		s->job[i].slots = s->job[i].slot = 0;
		s->job[i].cycle = s->job[i].round = 1;
	}
	for (uint32_t i = 0; i < p->now.njobs; i++)
		shares_take_job(s, p, &p->now.jobs[i]);
	for (uint32_t i = 0; i < n; i++) {
		struct share *x = shares_lookup(s, given[i].job_id);

		if (x)
			shares_account(x, &given[i]);
	}
}

/* The strobes that the node has missed since its last report.  A count that is
 * less than before is that of a new agent. */
static uint64_t shares_missed_more(const struct node_share *s, uint64_t missed)
{
	if (!s->known)
		return 0;
	return missed < s->missed ? missed : missed - s->missed;
}

void shares_missed(struct shares *s, const struct plan *p,
		   const uint64_t *missed, uint32_t nodes)
{
	if (nodes != s->nnodes)
		return;
	for (uint32_t i = 0; i < p->now.njobs; i++) {
		const struct snapshot_job *j = &p->now.jobs[i];
		struct share *x = shares_lookup(s, j->job_id);

		for (uint32_t k = 0; x && k < j->nodes.count; k++)
			for (uint32_t n = j->nodes.r[k].first;
			     n <= j->nodes.r[k].last; n++)
				x->missed += shares_missed_more(&s->node[n],
								missed[n]);
	}
	for (uint32_t n = 0; n < nodes; n++) {
		s->node[n].missed = missed[n];
		s->node[n].known = true;
	}
}

bool shares_outside(struct shares *s, const struct strober_outside *out,
		    uint32_t n, bool mute)
{
	bool changed = s->mute != mute;
	uint32_t k = 0;

	s->mute = mute;
	for (uint32_t i = 0; i < s->nnodes; i++) {
		struct strober_outside o = { 0 };

		if (k < n && out[k].node == i)
			o = out[k++];
		changed |= !o.since != !s->node[i].out ||
			   o.lacks != s->node[i].lacks ||
			   !o.deaf != !s->node[i].deaf ||
			   !o.unheard != !s->node[i].unheard;
		s->node[i].out = o.since;
		s->node[i].lacks = o.lacks;
		s->node[i].deaf = o.deaf;
		s->node[i].unheard = o.unheard;
	}
	return changed;
}

void shares_failed(struct shares *s, uint32_t node,
		   const struct node_share *wrong)
{
	struct node_share *n = &s->node[node];

	if (node >= s->nnodes)
		return;
	n->health = wrong->health;
	n->failed = wrong->failed;
	n->heard = wrong->heard;
	n->before = wrong->before;
}

void shares_new_nodes(struct shares *s)
{
	s->others = true;
}

/* On how many of its nodes does the job stand?  A node that is out lets it run. */
static uint32_t shares_stands(const struct shares *s, const struct share *x,
			      const struct snapshot_job *j)
{
	uint32_t stands = 0;

	if (s->mute || s->proof < x->held)
		return 0;
	for (uint32_t i = 0; i < j->nodes.count; i++)
		for (uint32_t n = j->nodes.r[i].first;
		     n <= j->nodes.r[i].last && n < s->nnodes; n++)
			stands += !s->node[n].out && !s->node[n].loose;
	return stands;
}

/* It stays held until strobes are by a map that gives it turns again. */
static bool shares_release(const struct shares *s, struct share *x,
			   uint64_t version, uint64_t force, bool runs)
{
	const struct share was = *x;

	if (!x->released)
		x->released = version;
	x->stands = 0;
	if (!runs || s->mute || force >= x->released)
		x->held = x->released = 0;
	return was.held != x->held || was.stands != x->stands;
}

static bool shares_hold(const struct shares *s, struct share *x,
			const struct snapshot_job *j, uint64_t version)
{
	const struct share was = *x;

	if (!x->held || x->released)
		x->held = version;
	x->released = 0;
	x->by_owner |= !j->by_admin;
	x->nodes = (uint32_t) storm_idset_size(&j->nodes);
	x->stands = shares_stands(s, x, j);
	return was.held != x->held || was.stands != x->stands ||
	       was.nodes != x->nodes;
}

bool shares_held(struct shares *s, const struct plan *p, uint64_t version,
		 const struct shares_proof *proof)
{
	bool changed = false;
	uint32_t at = 0;

	s->proof = proof->proof;
	for (uint32_t i = 0; i < s->nnodes && i < p->now.nnodes; i++)
		s->node[i].loose = proof->loose[i];
	/* both are ascending */
	for (uint32_t i = 0; i < p->now.njobs; i++) {
		const struct snapshot_job *j = &p->now.jobs[i];

		for (; at < s->njobs && s->job[at].job_id < j->job_id; at++)
			if (s->job[at].held)
				changed |= shares_release(s, &s->job[at],
							  version, proof->force,
							  false);
		if (at == s->njobs || s->job[at].job_id != j->job_id)
			changed |= j->held; /* shares_update() adds it */
		else if (j->held)
			changed |= shares_hold(s, &s->job[at], j, version);
		else if (s->job[at].held)
			changed |= shares_release(s, &s->job[at], version,
						  proof->force, true);
		at += at < s->njobs && s->job[at].job_id == j->job_id;
	}
	for (; at < s->njobs; at++)
		if (s->job[at].held)
			changed |= shares_release(s, &s->job[at], version,
						  proof->force, false);
	return changed;
}

void shares_forget(struct shares *s)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->njobs; i++)
		if (!s->job[i].gone)
			s->job[kept++] = s->job[i];
	s->njobs = kept;
}
