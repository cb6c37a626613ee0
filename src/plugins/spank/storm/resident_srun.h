/*
 * resident_srun.h - srun --resident, or SLURM_STORM_RESIDENT=yes: in a job srun becomes
 * "storm run", before its first message, and the job's launchers start the tasks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RESIDENT_SRUN_H
#define STORM_RESIDENT_SRUN_H

#include <stdbool.h>

#include "slurm/spank.h"

extern struct spank_option resident_srun_option;

/* Is the variable right?  Says what is wrong. */
bool resident_srun_is_valid(void);
/* srun was told how to launch: whether that was Slurm's way, and by a variable. */
void resident_srun_launch(bool slurm, bool by_env);
/* Is srun to become "storm run", as far as variables and its arguments tell? */
bool resident_srun_seems(char *const *argv);
/* srun has read the options of a component, the first one at first.  Returns if srun
 * goes on. */
void resident_srun_opted(void);
/* srun is about to launch a step, and logs as its options say: say why it does. */
void resident_srun_begins(void);

#endif
