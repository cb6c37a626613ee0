/*
 * failed_steps.h - the jobs and steps of a node that has failed: what they are told, and
 * how they are given up by Slurm's own rules (--no-kill).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FAILED_STEPS_H
#define STORM_FAILED_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/slurmctld/slurmctld.h"

struct failed_step {
	char *node; /* xfree */
	slurm_step_id_t id;
	uint32_t run; /* of its job, which has the same number when it is requeued */
};

/* The steps that were given up on nodes that may come back. */
struct failed_given {
	struct failed_step *step; /* count of them (xfree) */
	uint32_t count;
	bool changed; /* since the caller cleared it */
};

/* Add one, if there is room. */
void failed_given_add(struct failed_given *given, const char *node,
		      const slurm_step_id_t *id, uint32_t run);

/* Write the text to all that wait for jobs on the node: sruns of its steps; or, for a
 * job without such a step there, its salloc, or the output of its script.  The caller
 * holds slurmctld's job and node locks. */
void failed_steps_tell(const node_record_t *node, const char *text);

/* Slurm's own word to these that the node has failed, as when slurmctld sets it down.
 * A step without --no-kill ends on its other nodes.  *given gets what may still run
 * there.  The caller holds slurmctld's job and node write locks. */
void failed_steps_end(const node_record_t *node, struct failed_given *given);

/* The node is back: end what was given up there.  The caller holds slurmctld's node
 * lock. */
void failed_steps_fence(const node_record_t *node, struct failed_given *given);

#endif
