/*
 * step_give.h - slurmstepd tells the node's agent something about a step, by the local
 * socket (local.h): it gives a descriptor, so that the agent need open nothing by a path
 * that a user may have made, or a word of srun's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_GIVE_H
#define STORM_STEP_GIVE_H

#include <stdint.h>

#include "src/storm_common/fallback_word.h"
#include "src/storm_common/local/local.h"

/* A step, as its OPEN names it. */
struct step_owner {
	uint32_t job, step, het, uid;
};

/* Give fd, which the caller keeps.  type: LOCAL_DOOR or LOCAL_ACCOUNT.  As
 * root. rundir NULL: STORM_RUNDIR.  0 or an errno. */
int step_give(const char *rundir, const char *node, enum local_type type,
	      const struct step_owner *o, int fd);
/* Tell why Slurm launched the step; else as step_give(). */
int step_tell_fallback(const char *rundir, const char *node,
		       const struct step_owner *o,
		       const struct fallback_told *told);

#endif
