/*
 * shares.h - each job's account of the time that it has had of its cores while
 * it shared them.  The account begins with the job's first shared turn, and
 * ends when slurmctld forgets the job.  Users read it in SystemComment, and a
 * node's figures in Extra.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SHARES_H
#define STORM_SHARES_H

#include "plan.h"
#include "src/storm_common/strober_protocol.h"

struct share {
	uint32_t job_id;
	/* The job has so many slots of the cycle's.  Equal: it no longer
	 * shares.  No slots: it is suspended, or has ended. */
	uint32_t slots, cycle;
	uint32_t slot, round; /* its first slot, of so many in its round */
	uint64_t quantum;     /* ns */
	uint64_t had;	      /* ns that it has run while it shared */
	uint64_t missed;      /* strobes that its nodes missed meanwhile */
	/* ns that it has stood outside its turns, but for those in which its
	 * owner held it, which are in own. */
	uint64_t waited;
	uint64_t own;
	uint32_t weight; /* of its turns */
	/* ns of `had` before the strober's present count, and that count; the
	 * same of `waited`. */
	uint64_t had_before, counted;
	uint64_t waited_before, waited_counted;
	/* The first version of a map that holds it; 0: it is not held, or it
	 * was released and strobes go by a later map. */
	uint64_t held;
	uint64_t released; /* the first map without it; 0: it is still held */
	bool by_owner; /* since the last account its owner alone has held it */
	uint32_t stands,
		nodes; /* proven to stand on so many of so many nodes */
	bool fresh;    /* not written anywhere yet */
	bool gone;     /* slurmctld has forgotten the job */
};

struct node_share {
	uint32_t jobs;	 /* how many take turns on the node */
	uint64_t missed; /* strobes missed since its agent started */
	bool known;	 /* `missed` was reported */
	bool loose;	 /* held jobs are not known to stand there */
	int64_t out;	/* since when (s, wall clock) it is out; 0: it is not */
	uint32_t lacks; /* if out: as in struct strober_outside */
	bool deaf, unheard; /* if out: as there */
	const char *failed; /* a constant word: what is wrong with it; or NULL */
	const char *health; /* as failed: why it is not well, as it says itself */
	int64_t heard; /* if failed: when it was heard last (s, wall clock) */
	bool before;   /* it was heard before that time, if ever */
};

struct shares {
	struct share *job; /* ascending by job_id */
	uint32_t njobs, room;
	struct node_share *node; /* in the plan's order */
	uint32_t nnodes;
	bool shown; /* a node's Extra has our word */
	bool others; /* and perhaps that of a node that is not the plan's any more */
	bool mute;	/* all nodes are out: there is no strober */
	uint64_t proof; /* the map that `loose` is about; 0: none */
};

void shares_clear(struct shares *s);

/* Update the jobs' slots from the plan, and their times from the strober's
 * account of n jobs, of which some may have left the map just now. */
void shares_update(struct shares *s, const struct plan *p,
		   const struct strober_given *given, uint32_t n);

/* The most ns that a job with this limit (ns) can wait for its turns until it
 * has had its whole limit, beside so many others on its cores that all have the
 * weight `heaviest`. */
uint64_t shares_wait_most(uint64_t limit, uint32_t others, uint32_t weight,
			  uint32_t heaviest);

/* Add the strobes that each node has missed since its agent started, in the
 * plan's order.  Call it after shares_update(). */
void shares_missed(struct shares *s, const struct plan *p,
		   const uint64_t *missed, uint32_t nodes);

/* Take the n nodes that are out of gang scheduling, ascending; mute: all are.
 * True: they are others than before.  Call it after shares_update(). */
bool shares_outside(struct shares *s, const struct strober_outside *out,
		    uint32_t n, bool mute);

/* Take what is wrong with a node, as in struct node_share: failed to before.  Call it
 * after shares_update(). */
void shares_failed(struct shares *s, uint32_t node,
		   const struct node_share *wrong);

/* The plan has other nodes than before, or than an earlier slurmctld's: the next
 * shares_write() takes our word from all that are not the plan's. */
void shares_new_nodes(struct shares *s);

/* What the strober knows of held jobs. */
struct shares_proof {
	uint64_t force;	   /* the version of the map that strobes go by */
	uint64_t proof;	   /* the version that `loose` is about; 0: none */
	const bool *loose; /* by node, as in the plan: jobs may run there */
};

/* Take which jobs the plan holds, whose map has this version, and where they
 * are proven to stand.  True: something has changed.  Call it after
 * shares_update() and shares_outside(), and before the jobs are written. */
bool shares_held(struct shares *s, const struct plan *p, uint64_t version,
		 const struct shares_proof *proof);

/* Drop the jobs that slurmctld has forgotten. */
void shares_forget(struct shares *s);

/* Write all accounts to where users read them (comments.c), and move the ends
 * of jobs whose time limit counts turns (time_limit.h).  Takes slurmctld's job
 * and node write locks for a moment. */
void shares_write(struct shares *s, const struct plan *p,
		  const struct storm_gang_conf *conf);

#endif
