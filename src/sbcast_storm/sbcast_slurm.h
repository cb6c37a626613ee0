/*
 * sbcast_slurm.h - what sbcast's main() does around its broadcast, by release
 * of Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SBCAST_SLURM_H
#define STORM_SBCAST_SLURM_H

/* Before the options are read. */
void sbcast_slurm_init(void);

/* Send to the job, or to each component of a heterogeneous one until a result
 * is not 0.  one() sends to params.selected_step.  Returns its last result. */
int sbcast_slurm_each(int (*one)(void));

#endif
