/*
 * spank_slurmd.h - spank_storm in slurmd.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SPANK_SLURMD_H
#define STORM_SPANK_SLURMD_H

/* begin: slurmd has loaded its SPANK plugins.  end: it ends.  Errors are
 * logged, and leave Slurm as it is. */
void spank_slurmd_begin(void);
void spank_slurmd_end(void);

#endif
