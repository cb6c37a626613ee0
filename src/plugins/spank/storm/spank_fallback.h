/*
 * spank_fallback.h - srun's word of why Slurm launched a step (fallback_word.h), from
 * the step's environment to the node's agent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SPANK_FALLBACK_H
#define STORM_SPANK_FALLBACK_H

#include "slurm/spank.h"
#include "src/stepd/step_give.h"

/* In srun: another step's word, which this process has by inheritance, is none of its
 * steps'. */
void spank_fallback_forget(void);
/* In slurmstepd: take the word out of the step's environment, and give it to this node's
 * agent, if it is the node that keeps it. */
void spank_fallback_tell(spank_t sp, const char *node,
			 const struct step_owner *step);

#endif
