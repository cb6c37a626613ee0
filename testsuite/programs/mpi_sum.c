/*
 * mpi_sum - an MPI program: every rank adds up all ranks, and a message goes
 * once round the ring.  Proves that PMI2 wires the tasks up.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "leave_mpi.h"

/* Over PMI2 MPI_Abort() of MPICH 4.2 (Debian 13's) returns, and the ranks would
 * end by themselves.  So nobody ends, or talks to a rank that has ended. */
static void end_by_abort(bool calls, int code)
{
	fflush(stdout);
	MPI_Barrier(MPI_COMM_WORLD);
	if (calls)
		MPI_Abort(MPI_COMM_WORLD, code);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int rank, size, sum = 0, token = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (size > 1) {
		if (rank)
			MPI_Recv(&token, 1, MPI_INT, rank - 1, 0,
				 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		token++;
		MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0,
			 MPI_COMM_WORLD);
		if (!rank)
			MPI_Recv(&token, 1, MPI_INT, size - 1, 0,
				 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	printf("rank %d of %d sum %d token %d\n", rank, size, sum, token);
	if (argc > 2)
		end_by_abort(rank == atoi(argv[1]), atoi(argv[2]));
	leave_mpi();
}
