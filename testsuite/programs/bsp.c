/*
 * bsp - bulk synchronous steps: every rank computes for about a hundred
 * microseconds, then all meet in an allreduce, ITERATIONS times.  What gang
 * scheduling is for: a rank that does not run keeps all others waiting.
 *
 *	bsp ITERATIONS GO [DIRECTORY]
 *
 * begins when the file GO is there.  Rank 0 reports when it began and ended, in
 * CLOCK_MONOTONIC nanoseconds.  With a directory it leaves the time of each
 * iteration's end there, 8 bytes each, in a file that is called by the job's number.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "leave_mpi.h"
#include "mpi_time.h"

#define UNITS 48000 /* about 100 microseconds */

static volatile double sink;

static void compute(void)
{
	double x = 1.000001;

	for (int i = 0; i < UNITS; i++)
		x = x * 1.0000001;
	sink = x;
}

static void keep(const char *dir, const long long *ends, size_t n)
{
	const char *job = getenv("SLURM_JOB_ID");
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, job ? job : "0");
	f = fopen(path, "w");
	if (!f || fwrite(ends, sizeof(*ends), n, f) != n || fclose(f)) {
		perror(path);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

int main(int argc, char **argv)
{
	double a = 1, sum;
	long long begun, *ends;
	long n;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	n = argc == 3 || argc == 4 ? atol(argv[1]) : 0;
	ends = n > 0 ? calloc(n, sizeof(*ends)) : NULL;
	if (!ends)
		MPI_Abort(MPI_COMM_WORLD, 2);
	begun = begin_with(argv[2]);
	for (long i = 0; i < n; i++) {
		compute();
		MPI_Allreduce(&a, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		ends[i] = now();
	}
	if (!rank && argc == 4)
		keep(argv[3], ends, n);
	if (!rank)
		printf("%lld %lld\n", begun, ends[n - 1]);
	leave_mpi();
}
