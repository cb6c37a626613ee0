/*
 * spank_resident.h - --resident of sbatch and salloc: the job's launchers (storm run)
 * begin beside its script, or its command.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SPANK_RESIDENT_H
#define STORM_SPANK_RESIDENT_H

#include "slurm/spank.h"

extern struct spank_option spank_resident_option;

/* In the process that becomes the batch script, as its user: start them, if sbatch was
 * asked to.  The script does not wait; what fails is a line of its stderr. */
void spank_resident_begin(spank_t sp);

#endif
