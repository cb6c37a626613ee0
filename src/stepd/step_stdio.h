/*
 * step_stdio.h - sees to it that the last bytes of a step's output reach srun.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_STDIO_H
#define STORM_STEP_STDIO_H

#include "src/slurmd/slurmstepd/slurmstepd_job.h"

/*
 * Wait until srun has read this node's output to its end and closed the
 * connection, has ended, or does not read for STEP_STDIO_WAIT.  Call it in
 * slurmstepd after its stdio thread has ended, before srun gets the last exits.
 */
void step_stdio_linger(const stepd_step_rec_t *job);

#endif
