/*
 * mpi_hello - an MPI program that says when it called MPI_Init and when it had ended
 * MPI, in microseconds since 1970: "hello RANK BEGAN ENDED".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "leave_mpi.h"

static int64_t microseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t) t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
	int64_t began = microseconds();
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	end_mpi();
	printf("hello %d %" PRId64 " %" PRId64 "\n", rank, began,
	       microseconds());
	leave_without();
}
