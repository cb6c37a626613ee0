/*
 * halo - two ways of ranks to wait for each other.
 *
 *	halo GO halo ITERATIONS UNITS	200 us of work, edges of 4 KB posted, 200 us
 *					of work, wait for them: a stencil that overlaps
 *	halo GO bsp ITERATIONS UNITS	100 us of work, allreduce
 *	halo GO units			prints the UNITS of 100 us
 *
 * begins when the file GO is there.  Rank 0 reports when it began and ended, in
 * CLOCK_MONOTONIC nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leave_mpi.h"
#include "mpi_time.h"

#define EDGE 4096

static char in[2][EDGE], out[2][EDGE];
static volatile double sink;
static long units;

static void compute(int parts)
{
	double x = 1.000001;

	for (long i = 0; i < units * parts; i++)
		x = x * 1.0000001;
	sink = x;
}

/* The fastest of many, because others may run, too. */
static void print_units(void)
{
	long long best = 0, took;

	units = 50000;
	for (int i = 0; i < 1000; i++) {
		took = now();
		compute(1);
		took = now() - took;
		if (!best || took < best)
			best = took;
	}
	printf("%.0f\n", 100e3 * (double) units / (double) best);
}

static void post(MPI_Request *r, const int *side)
{
	for (int i = 0; i < 2; i++) {
		MPI_Irecv(in[i], EDGE, MPI_CHAR, side[i], i, MPI_COMM_WORLD,
			  &r[i]);
		MPI_Isend(out[i], EDGE, MPI_CHAR, side[i], 1 - i,
			  MPI_COMM_WORLD, &r[2 + i]);
	}
}

static void exchange(const int *side, int mark)
{
	MPI_Request r[4];

	memset(out, mark & 127, sizeof(out));
	compute(2);
	post(r, side);
	compute(2);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

static void meet(int ranks)
{
	int one = 1, all;

	compute(1);
	MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (all != ranks)
		MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
	int rank, ranks, side[2];
	long long begun;
	long n;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc == 3 && !strcmp(argv[2], "units")) {
		begin_with(argv[1]);
		if (!rank)
			print_units();
		leave_mpi();
	}
	n = argc == 5 ? atol(argv[3]) : 0;
	units = argc == 5 ? atol(argv[4]) : 0;
	if (n < 1 || units < 1)
		MPI_Abort(MPI_COMM_WORLD, 2);
	side[0] = (rank + ranks - 1) % ranks;
	side[1] = (rank + 1) % ranks;
	begun = begin_with(argv[1]);
	for (long i = 0; i < n; i++) {
		if (!strcmp(argv[2], "bsp")) {
			meet(ranks);
			continue;
		}
		exchange(side, (int) (rank + i));
		for (int s = 0; s < 2; s++)
			if (in[s][EDGE - 1] != ((side[s] + i) & 127))
				MPI_Abort(MPI_COMM_WORLD, 1);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank)
		printf("%lld %lld\n", begun, now());
	leave_mpi();
}
