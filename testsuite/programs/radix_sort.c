/*
 * radix_sort - sorts numbers that are spread over the ranks, a bit at a time.  Each
 * bit takes a prefix scan, a reduction, a broadcast, a reduction to each rank, an
 * exchange of all with all and a barrier: most of what ranks can do together.
 *
 *	radix_sort GO NUMBERS BITS TIMES
 *
 * begins when the file GO is there.  Each rank has NUMBERS of BITS bits.  Rank 0
 * reports when it began and ended, in CLOCK_MONOTONIC nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leave_mpi.h"
#include "mpi_time.h"

#define MOST 1024 /* moves in a message */

struct move {
	uint32_t value,
		place; /* place: among the numbers of the rank it goes to */
};

static int rank, ranks, *tally, *start;
static long n;
static uint32_t *x, *sorted;
static struct move *moves;
static MPI_Request *sent;

static void *need(size_t count, size_t size)
{
	void *p = calloc(count, size);

	if (!p)
		MPI_Abort(MPI_COMM_WORLD, 1);
	return p;
}

/* Where in the whole vector this rank's first number without the bit goes, and
 * the first with it. */
static void first_places(int bit, long place[2])
{
	long mine[2] = { 0, 0 }, before[2] = { 0, 0 }, zeros = 0;

	for (long i = 0; i < n; i++)
		mine[x[i] >> bit & 1]++;
	MPI_Exscan(mine, before, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	MPI_Reduce(mine, &zeros, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Bcast(&zeros, 1, MPI_LONG, 0, MPI_COMM_WORLD);
	place[0] = rank ? before[0] : 0;
	place[1] = zeros + (rank ? before[1] : 0);
}

/* The moves of all numbers, in the order of the ranks they go to. */
static void plan_moves(int bit, const long first[2])
{
	long place[2] = { first[0], first[1] };
	int *next = need(ranks, sizeof(*next));

	memset(tally, 0, ranks * sizeof(*tally));
	for (long i = 0; i < n; i++)
		tally[place[x[i] >> bit & 1]++ / n]++;
	for (int p = 1; p < ranks; p++)
		next[p] = start[p] = start[p - 1] + tally[p - 1];
	place[0] = first[0];
	place[1] = first[1];
	for (long i = 0; i < n; i++) {
		long to = place[x[i] >> bit & 1]++;

		moves[next[to / n]++] = (struct move) { x[i], to % n };
	}
	free(next);
}

static void apply_moves(const struct move *m, int count)
{
	for (int i = 0; i < count; i++)
		sorted[m[i].place] = m[i].value;
}

static int send_moves(int bit)
{
	int count = 0;

	for (int p = 0; p < ranks; p++)
		for (int i = 0; p != rank && i < tally[p]; i += MOST) {
			int some = tally[p] - i < MOST ? tally[p] - i : MOST;

			MPI_Isend(&moves[start[p] + i], 2 * some, MPI_UINT32_T,
				  p, bit, MPI_COMM_WORLD, &sent[count++]);
		}
	return count;
}

static void take_moves(int bit, int expected)
{
	struct move in[MOST];
	MPI_Status status;
	int words;

	while (expected > 0) {
		MPI_Recv(in, 2 * MOST, MPI_UINT32_T, MPI_ANY_SOURCE, bit,
			 MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_UINT32_T, &words);
		apply_moves(in, words / 2);
		expected -= words / 2;
	}
}

static void sort_by(int bit)
{
	int expected = 0, none = 0, count;
	long first[2];

	first_places(bit, first);
	plan_moves(bit, first);
	apply_moves(&moves[start[rank]], tally[rank]);
	for (int p = 0; p < ranks; p++)
		MPI_Reduce(p == rank ? &none : &tally[p], &expected, 1, MPI_INT,
			   MPI_SUM, p, MPI_COMM_WORLD);
	count = send_moves(bit);
	take_moves(bit, expected);
	while (count)
		MPI_Wait(&sent[--count], MPI_STATUS_IGNORE);
	memcpy(x, sorted, n * sizeof(*x));
	MPI_Barrier(MPI_COMM_WORLD);
}

static uint64_t sum_of_all(void)
{
	uint64_t mine = 0, sum;

	for (long i = 0; i < n; i++)
		mine += x[i];
	MPI_Allreduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	return sum;
}

/* In order, on this rank and after the one before. */
static bool in_order(void)
{
	uint32_t before = 0;

	MPI_Sendrecv(&x[n - 1], 1, MPI_UINT32_T,
		     rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL, 0, &before, 1,
		     MPI_UINT32_T, rank ? rank - 1 : MPI_PROC_NULL, 0,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (long i = 0; i < n; before = x[i++])
		if (x[i] < before)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	long long begun, took = 0;
	int bits, times;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	n = argc == 5 ? atol(argv[2]) : 0;
	bits = argc == 5 ? atoi(argv[3]) : 0;
	times = argc == 5 ? atoi(argv[4]) : 0;
	if (n < 1 || bits < 1 || bits > 31 || times < 1)
		MPI_Abort(MPI_COMM_WORLD, 2);
	x = need(n, sizeof(*x));
	sorted = need(n, sizeof(*sorted));
	moves = need(n, sizeof(*moves));
	sent = need(n / MOST + ranks, sizeof(*sent));
	tally = need(ranks, sizeof(*tally));
	start = need(ranks, sizeof(*start));
	srandom(rank + 1);
	begun = begin_with(argv[1]);
	for (int t = 0; t < times; t++) {
		uint64_t sum;

		for (long i = 0; i < n; i++)
			x[i] = random() & ((1u << bits) - 1);
		sum = sum_of_all();
		begun = now();
		for (int bit = 0; bit < bits; bit++)
			sort_by(bit);
		took += now() - begun;
		if (!in_order() || sum_of_all() != sum) {
			fprintf(stderr, "radix_sort: not sorted\n");
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
	}
	if (!rank)
		printf("%lld\n", took / times);
	leave_mpi();
}
