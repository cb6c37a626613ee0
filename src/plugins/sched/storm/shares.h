/*
 * shares.h - the account of the time that each job has had of its cores while
 * it shared them.  It begins with the job's first shared turn and ends when
 * slurmctld forgets the job.  Users read it in SystemComment, and a node's
 * figures in Extra.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SHARES_H
#define STORM_SHARES_H

#include "plan.h"
#include "src/storm_common/strober_protocol.h"

struct share {
	uint32_t job_id;
	/* It has so many slots of so many.  Equal: it no longer shares.  No
	 * slots: it is suspended, or has ended. */
	uint32_t slots, cycle;
	uint32_t slot, round; /* its first slot in a round of its group */
	uint64_t quantum;     /* ns */
	uint64_t had;	      /* ns that it has run while it shared */
	uint64_t missed;      /* strobes that its nodes missed meanwhile */
	/* ns that it has stood out of its turns, less what its owner has held it */
	uint64_t waited;
	uint64_t own;	 /* ns of that */
	uint32_t weight; /* of its turns */
	/* ns of `had`: before the strober's present count, and that count */
	uint64_t had_before, counted;
	uint64_t waited_before, waited_counted; /* the same of `waited` */
	/* It is held, by maps from this version on; 0: it is not, or has been
	 * released and the strobes are by a later map. */
	uint64_t held;
	uint64_t released; /* the first map without it; 0: it is still held */
	bool by_owner; /* it was since the last account, and not by others */
	uint32_t stands, nodes; /* proven, of so many */
	bool fresh;		/* not written anywhere yet */
	bool gone;		/* slurmctld has forgotten the job */
};

struct node_share {
	uint32_t jobs;	 /* that take turns on the node */
	uint64_t missed; /* strobes since its agent started */
	bool known;	 /* `missed` has been reported */
	bool loose;	 /* held jobs are not known to stand there */
	int64_t out;	 /* out of gang scheduling since (wall clock); 0: not */
	uint32_t lacks;	 /* then: as in struct strober_outside */
	bool deaf;	 /* and this, too */
};

struct shares {
	struct share *job; /* ascending by job_id */
	uint32_t njobs, room;
	struct node_share *node; /* in the plan's order */
	uint32_t nnodes;
	bool shown;	/* a node's Extra has our word */
	bool mute;	/* all nodes are out: there is no strober */
	uint64_t proof; /* the map that `loose` is about; 0: none */
};

void shares_clear(struct shares *s);

/* Update the jobs' slots from the plan, and their times from the strober's
 * account of n jobs.  That may include jobs which have just left the map. */
void shares_update(struct shares *s, const struct plan *p,
		   const struct strober_given *given, uint32_t n);

/* ns that a job with this limit may wait for its turns beside so many others on its
 * cores, if these are as heavy as any: then it has had its whole limit. */
uint64_t shares_wait_most(uint64_t limit, uint32_t others, uint32_t weight,
			  uint32_t heaviest);

/* Add the strobes that each node has missed since its agent started, in the
 * plan's order.  Call it after shares_update(). */
void shares_missed(struct shares *s, const struct plan *p,
		   const uint64_t *missed, uint32_t nodes);

/* Take which nodes are out of gang scheduling, ascending.  True: others than
 * before.  Call it after shares_update(). */
bool shares_outside(struct shares *s, const struct strober_outside *out,
		    uint32_t n, bool mute);

/* What the strober knows of held jobs. */
struct shares_proof {
	uint64_t force;	   /* the map by which strobes are */
	uint64_t proof;	   /* that of which it knows; 0: none */
	const bool *loose; /* by node, as in the plan: not there */
};

/* Take which jobs are held by the plan, whose map has this version, and where they are
 * proven to stand.  True: other than before.  Call it after shares_update() and
 * shares_outside(), and before the jobs are written. */
bool shares_held(struct shares *s, const struct plan *p, uint64_t version,
		 const struct shares_proof *proof);

/* Drop the jobs that slurmctld has forgotten. */
void shares_forget(struct shares *s);

/* Write all accounts where users read them (comments.c), and move the ends of jobs
 * whose time limit counts turns (time_limit.h).  Takes slurmctld's job and node
 * write locks for a moment. */
void shares_write(struct shares *s, const struct plan *p,
		  const struct storm_gang_conf *conf);

#endif
