/*
 * launch_took.h - how an agent counts the times of launches, for a histogram of all
 * nodes.  No Slurm header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCH_TOOK_H
#define STORM_LAUNCH_TOOK_H

/* Where each bucket ends, ms; what takes longer is in one more. */
#define LAUNCH_TOOK_ENDS                                          \
	{                                                         \
		50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000 \
	}
#define LAUNCH_TOOKS 10

#endif
