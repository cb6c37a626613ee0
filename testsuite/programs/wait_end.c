/*
 * wait_end - meet a few hundred times, and end as MPI has it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <mpi.h>

int main(int argc, char **argv)
{
	int one = 1, all;

	MPI_Init(&argc, &argv);
	for (int i = 0; i < 300; i++)
		MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
