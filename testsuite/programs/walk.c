/*
 * walk - walks through an array in large steps, and exchanges with all other ranks
 * now and then: a parallel program of any memory, granularity and message size.
 *
 *	walk GO CYCLES BYTES EXCHANGES BUFFER
 *
 * fills the array when the file GO is there, and begins.  CYCLES times it reads a number of an array of
 * BYTES, computes with it and writes to another place of the array.  It meanwhile
 * exchanges a buffer of BUFFER bytes in all with all ranks EXCHANGES times.  Rank 0
 * reports when it began and ended, in CLOCK_MONOTONIC nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leave_mpi.h"
#include "mpi_time.h"

#define STEP 15485863 /* a prime; no cache foresees where the next number is */

static double *array;
static size_t numbers, step, at;

static void walk_on(long cycles)
{
	size_t to = at;

	for (long i = 0; i < cycles; i++) {
		double value = array[at];

		to = at + step;
		if (to >= numbers)
			to -= numbers;
		array[to] = array[to] * 0.5 + value * 0.25 + 1;
		at = to;
	}
}

static void pick(char *buffer, size_t size)
{
	size_t some = size < numbers * sizeof(double) ?
			      size :
			      numbers * sizeof(double);

	memcpy(buffer, array, some);
}

int main(int argc, char **argv)
{
	long cycles, exchanges, left;
	size_t buffer, each;
	char *out, *in;
	long long begun;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	cycles = argc == 6 ? atol(argv[2]) : 0;
	if (cycles < 1)
		MPI_Abort(MPI_COMM_WORLD, 2);
	numbers = (atol(argv[3]) + sizeof(double) - 1) / sizeof(double);
	exchanges = atol(argv[4]);
	buffer = atol(argv[5]);
	each = buffer / ranks ? buffer / ranks : 1;
	step = STEP % numbers;
	array = calloc(numbers, sizeof(double));
	out = calloc(ranks, each);
	in = calloc(ranks, each);
	if (!array || !out || !in)
		MPI_Abort(MPI_COMM_WORLD, 1);
	begin_with(argv[1]);
	memset(array, 1, numbers * sizeof(double));
	MPI_Barrier(MPI_COMM_WORLD);
	begun = now();
	left = cycles;
	for (long i = 0; i < exchanges; i++) {
		walk_on(cycles / exchanges);
		left -= cycles / exchanges;
		pick(out, ranks * each);
		MPI_Alltoall(out, each, MPI_CHAR, in, each, MPI_CHAR,
			     MPI_COMM_WORLD);
	}
	walk_on(left);
	if (exchanges)
		MPI_Barrier(MPI_COMM_WORLD);
	if (!rank)
		printf("%lld %lld\n", begun, now());
	leave_mpi();
}
