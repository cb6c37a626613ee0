/*
 * mpi_time.h - when an MPI program of ours begins, and what time it is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef MPI_TIME_H
#define MPI_TIME_H

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* CLOCK_MONOTONIC in nanoseconds; all hosts of a lab have the same. */
static inline long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* All ranks begin together, once the file `go` is there.  That the job is ready for
 * it says a file GO.JOB.  "-" is there always. */
static inline long long begin_with(const char *go)
{
	const char *job = getenv("SLURM_JOB_ID");
	char ready[4096];
	int rank, fd;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!strcmp(go, "-"))
		return now();
	snprintf(ready, sizeof(ready), "%s.%s", go, job ? job : "0");
	fd = rank ? -1 : open(ready, O_WRONLY | O_CREAT, 0666);
	if (fd >= 0)
		close(fd);
	while (access(go, F_OK))
		usleep(1000);
	MPI_Barrier(MPI_COMM_WORLD);
	return now();
}

#endif
