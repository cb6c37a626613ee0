/*
 * step_relay.h - slurmstepd's side of starts and exits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_RELAY_H
#define STORM_STEP_RELAY_H

#include "src/slurmd/slurmstepd/slurmstepd_job.h"

/* In slurmstepd, before the tasks are forked: if storm launched the step, take
 * what slurmstepd is going to tell srun.  Whatever fails here, Slurm's own
 * messages go their own way. */
void step_relay_start(stepd_step_rec_t *job);

/*
 * In switch_p_job_postfini, when all processes of the step have ended: returns
 * once srun has heard everything so far, by storm or by Slurm's own message,
 * or cannot be reached.  What slurmstepd sends later is answered when srun has
 * heard it.
 */
void step_relay_drain(void);

#endif
