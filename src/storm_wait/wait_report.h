/*
 * wait_report.h - reports, at the end of an MPI program, how its ranks have
 * waited.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_WAIT_REPORT_H
#define STORM_WAIT_REPORT_H

/* All ranks call it before MPI ends; `caller` is an address of the program.
 * Rank 0 writes to stderr: with STORM_WAIT_STATS each rank's granularity and
 * waiting, and always that a mode costs this program more than it gives.  A
 * second call does nothing. */
void wait_report(void *caller);

#endif
