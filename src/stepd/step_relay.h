/*
 * step_relay.h - the relay in slurmstepd: it takes the messages about starts
 * and exits that slurmstepd has for srun, and reports them to the agent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_RELAY_H
#define STORM_STEP_RELAY_H

#include "src/slurmd/slurmstepd/slurmstepd_job.h"

/* If STORM launched the step, start a thread that receives slurmstepd's
 * messages to srun.  In slurmstepd, before the tasks are forked.  After any
 * failure here, the messages go to srun directly. */
void step_relay_start(stepd_step_rec_t *job);

/*
 * Wait, if no more messages are to come, until srun has all of them, by STORM
 * or directly, or cannot be reached.  In switch_p_job_postfini, when all
 * processes of the step have ended.  Messages that come later are answered when
 * srun has them.
 */
void step_relay_drain(void);

#endif
