/*
 * stencil - heat in a plate, by Jacobi's method.  The plate is cut into strips,
 * one to a rank.  In every sweep neighbours exchange their edges.  In every
 * tenth sweep all ranks learn how much has changed.  A sweep takes about a
 * hundred microseconds and goes through a megabyte.  A rank that comes back to
 * its processor finds the data of others there.
 *
 *	stencil SWEEPS GO
 *
 * begins when the file GO is there.  Rank 0 reports when it began and ended, in
 * CLOCK_MONOTONIC nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "leave_mpi.h"
#include "mpi_time.h"

#define ROWS 128 /* of a strip, without its neighbours' edges */
#define COLUMNS 512
#define HOT 100.0 /* the plate's upper edge; it is 0 elsewhere */

typedef double strip[ROWS + 2][COLUMNS];

static strip plate[2];

static void edges(strip p, int above, int below)
{
	MPI_Sendrecv(p[1], COLUMNS, MPI_DOUBLE, above, 0, p[ROWS + 1], COLUMNS,
		     MPI_DOUBLE, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(p[ROWS], COLUMNS, MPI_DOUBLE, below, 1, p[0], COLUMNS,
		     MPI_DOUBLE, above, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The mean of its four neighbours for each point; the plate's own edges stay. */
static void sweep(strip to, strip from)
{
	for (int y = 1; y <= ROWS; y++)
		for (int x = 1; x < COLUMNS - 1; x++)
			to[y][x] = 0.25 * (from[y - 1][x] + from[y + 1][x] +
					   from[y][x - 1] + from[y][x + 1]);
}

static double changed(strip a, strip b)
{
	double most = 0, all;

	for (int y = 1; y <= ROWS; y++)
		for (int x = 0; x < COLUMNS; x++)
			most = fmax(most, fabs(a[y][x] - b[y][x]));
	MPI_Allreduce(&most, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return all;
}

int main(int argc, char **argv)
{
	int rank, ranks, above, below;
	double change = 0;
	long long begun;
	long sweeps;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	sweeps = argc == 3 ? atol(argv[1]) : 0;
	if (sweeps < 1)
		MPI_Abort(MPI_COMM_WORLD, 2);
	above = rank ? rank - 1 : MPI_PROC_NULL;
	below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
	for (int x = 0; !rank && x < COLUMNS; x++)
		plate[0][0][x] = plate[1][0][x] = HOT;
	begun = begin_with(argv[2]);
	for (long i = 0; i < sweeps; i++) {
		edges(plate[i % 2], above, below);
		sweep(plate[(i + 1) % 2], plate[i % 2]);
		if (i % 10 == 9)
			change = changed(plate[0], plate[1]);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	/* heat spreads evenlier and evenlier, and never beyond what there was */
	if (!(change <= HOT / 2))
		MPI_Abort(MPI_COMM_WORLD, 1);
	if (!rank)
		printf("%lld %lld\n", begun, now());
	leave_mpi();
}
