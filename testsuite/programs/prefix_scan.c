/*
 * prefix_scan - the sums of all first 1, 2, ... numbers of a vector that is spread
 * over the ranks.
 *
 *	prefix_scan GO naive|tuned NUMBERS TIMES
 *
 * begins when the file GO is there.  Each rank has NUMBERS of the vector.  As on a
 * machine whose processors each have a number (naive), each number goes to where it
 * is added by a message of its own.  Tuned for a cluster, a rank sends only its last
 * sum.  A barrier follows each round of messages.  Rank 0 reports the nanoseconds of
 * the first local sums, then those of each rank for the whole, means of TIMES scans.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leave_mpi.h"
#include "mpi_time.h"

struct element {
	long value, place;
};

static int rank, ranks;

static void add_from_here(long *x, long n, long d, int round,
			  struct element *out, MPI_Request *sent)
{
	int count = 0;
	long first = rank * n, came = 0;

	for (long i = n - 1; i >= 0 && (first + i + d) / n != rank; i--) {
		long to = (first + i + d) / n;

		if (to >= ranks)
			continue;
		out[count] = (struct element) { x[i], first + i + d };
		MPI_Isend(&out[count], 2, MPI_LONG, to, round, MPI_COMM_WORLD,
			  &sent[count]);
		count++;
	}
	for (long i = n - 1; i >= d; i--)
		x[i] += x[i - d];
	for (long i = 0; i < n && i < d; i++)
		came += first + i >= d;
	for (; came; came--) {
		struct element e;

		MPI_Recv(&e, 2, MPI_LONG, MPI_ANY_SOURCE, round, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		x[e.place - first] += e.value;
	}
	while (count)
		MPI_Wait(&sent[--count], MPI_STATUS_IGNORE);
}

static long long scan_naive(long *x, long n)
{
	struct element *out = malloc(n * sizeof(*out));
	MPI_Request *sent = malloc(n * sizeof(*sent));
	int round = 0;

	if (!out || !sent)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (long d = 1; d < ranks * n; d *= 2) {
		add_from_here(x, n, d, round++, out, sent);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	free(out);
	free(sent);
	return 0;
}

/* Returns the nanoseconds of the first local sums. */
static long long scan_tuned(long *x, long n)
{
	long long begun = now(), local;

	for (long i = 1; i < n; i++)
		x[i] += x[i - 1];
	local = now() - begun;
	for (int d = 1; d < ranks; d *= 2) {
		long out = x[n - 1], in = 0;

		MPI_Sendrecv(&out, 1, MPI_LONG,
			     rank + d < ranks ? rank + d : MPI_PROC_NULL, 0,
			     &in, 1, MPI_LONG,
			     rank >= d ? rank - d : MPI_PROC_NULL, 0,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Barrier(MPI_COMM_WORLD);
		for (long i = 0; rank >= d && i < n; i++)
			x[i] += in;
	}
	return local;
}

static void fill(long *x, long n)
{
	for (long i = 0; i < n; i++)
		x[i] = rank * n + i + 1;
}

static void check(const long *x, long n)
{
	for (long i = 0; i < n; i++) {
		long last = rank * n + i + 1;

		if (x[i] != last * (last + 1) / 2) {
			fprintf(stderr, "prefix_scan: a wrong sum\n");
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
	}
}

static void report(long long local, long long mine, int times)
{
	long long *all = calloc(ranks, sizeof(*all));

	if (!all)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Gather(&mine, 1, MPI_LONG_LONG, all, 1, MPI_LONG_LONG, 0,
		   MPI_COMM_WORLD);
	if (!rank)
		printf("%lld", local / times);
	for (int i = 0; !rank && i < ranks; i++)
		printf(" %lld", all[i] / times);
	if (!rank)
		printf("\n");
	free(all);
}

int main(int argc, char **argv)
{
	long long mine = 0, local = 0;
	int times, naive;
	long n, *x;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	n = argc == 5 ? atol(argv[3]) : 0;
	times = argc == 5 ? atoi(argv[4]) : 0;
	x = n > 0 ? malloc(n * sizeof(*x)) : NULL;
	if (!x || times < 1)
		MPI_Abort(MPI_COMM_WORLD, 2);
	naive = !strcmp(argv[2], "naive");
	begin_with(argv[1]);
	for (int i = 0; i < times; i++) {
		long long begun;

		fill(x, n);
		MPI_Barrier(MPI_COMM_WORLD);
		begun = now();
		local += naive ? scan_naive(x, n) : scan_tuned(x, n);
		mine += now() - begun;
		check(x, n);
	}
	report(local, mine, times);
	leave_mpi();
}
