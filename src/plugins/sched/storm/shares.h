/*
 * shares.h - the account of what each job has had of its cores while it shared
 * them, from its first shared turn until slurmctld has forgotten it: what users
 * read in SystemComment, and of nodes in Extra.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SHARES_H
#define STORM_SHARES_H

#include "plan.h"
#include "src/plugins/sched/storm/strober/strober.h"

struct share {
	uint32_t job_id;
	uint32_t slots, cycle;	/* so many of so many; the same: it shares no
				   more; none: it is suspended, or over */
	uint32_t slot, round;	/* its first slot in a round of its group */
	uint64_t quantum;	/* ns */
	uint64_t had;		/* ns that it has had while it shared */
	uint64_t missed;	/* strobes, of all of its nodes, meanwhile */
	/* of these, what the strober did not count from its last start on */
	uint64_t had_before, counted;
	bool fresh;		/* it is not written anywhere yet */
	bool gone;		/* slurmctld does not know it any more */
};

struct node_share {
	uint32_t jobs;		/* that take turns there */
	uint64_t missed;	/* since its agent began */
	bool known;
};

struct shares {
	struct share *job;	/* ascending by job_id */
	uint32_t njobs, room;
	struct node_share *node;	/* as in the plan */
	uint32_t nnodes;
	bool shown;		/* something is written of nodes */
};

void shares_clear(struct shares *s);

/* Who takes turns by this plan, and the strober's account of those that do or
 * did lately. */
void shares_update(struct shares *s, const struct plan *p,
		   const struct strober_given *given, uint32_t n);

/* What nodes have missed since their agents began, in the plan's order; comes
 * behind shares_update(). */
void shares_missed(struct shares *s, const struct plan *p,
		   const uint64_t *missed, uint32_t nodes);

/* Those that are gone. */
void shares_forget(struct shares *s);

/* Write it where users read it (comments.c).  Takes slurmctld's job and node
 * write locks for a moment. */
void shares_write(struct shares *s, const struct plan *p);

#endif
