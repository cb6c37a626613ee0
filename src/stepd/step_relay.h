/*
 * step_relay.h - slurmstepd's side of starts and exits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_RELAY_H
#define STORM_STEP_RELAY_H

#include "src/slurmd/slurmstepd/slurmstepd_job.h"

/* In slurmstepd, before the tasks are forked.  If STORM launched the step,
 * receive slurmstepd's messages to srun.  After any failure here, they go to
 * srun directly. */
void step_relay_start(stepd_step_rec_t *job);

/*
 * In switch_p_job_postfini, when all processes of the step have ended.  Later
 * messages of slurmstepd are answered when srun has them.  If none is to come,
 * returns when srun has every message so far, by STORM or directly, or cannot be
 * reached.
 */
void step_relay_drain(void);

#endif
