/*
 * leave_mpi.h - the end of an MPI program of ours.
 *
 * MPICH 4.0 over UCX (Debian 12's) can hang in MPI_Finalize: a rank that waits in
 * PMI's barrier no longer serves the ranks that still disconnect from it (mended in
 * 4.2, pmodels/mpich pull request 6596).  By stock Slurm two tasks on each of two
 * nodes hang in half of all runs or more, so they leave without it.  To Open MPI
 * that would be a crash.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef LEAVE_MPI_H
#define LEAVE_MPI_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* No rank needs another one any more. */
static inline void end_mpi(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
#ifdef OPEN_MPI
	MPI_Finalize();
#endif
}

/* After end_mpi(). */
static inline void leave_without(void)
{
	fflush(stdout);
#ifdef OPEN_MPI
	exit(0);
#else
	_exit(0);
#endif
}

static inline void leave_mpi(void)
{
	end_mpi();
	leave_without();
}

#endif
