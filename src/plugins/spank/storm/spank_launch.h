/*
 * spank_launch.h - how --launch=storm|slurm takes effect in srun.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SPANK_LAUNCH_H
#define STORM_SPANK_LAUNCH_H

/* Launch this srun's steps by `type`, "storm" or "slurm".  Called in srun,
 * before it asks for an allocation; the last call counts. */
void spank_launch_by(const char *type);
/* srun has read all options of a component. */
void spank_launch_opted(void);
/* srun is about to launch the step, and logs as its options say. */
void spank_launch_begins(void);

#endif
