/*
 * barrier - computes and meets by turns, and notes how long each meeting takes:
 * what a parallel program loses to ranks that do not run when they should.
 *
 *	barrier GO NAME poll|yield SECONDS SPINS...
 *
 * begins when the file GO is there.  For each number of SPINS it spins so often
 * between two meetings, for SECONDS, 20 to 10,000 times.  A rank waits by asking again
 * and again (poll), or leaves the processor to others meanwhile (yield).  Each rank
 * leaves the beginning and the end of each meeting in NAME.RANK.SPINS, 8 bytes each,
 * CLOCK_MONOTONIC nanoseconds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "leave_mpi.h"
#include "mpi_time.h"

#define LEAST 20
#define MOST 10000

struct meeting {
	long long begin, end;
};

volatile long touched;

static int rank, ranks;

static void spin(long spins)
{
	for (long i = 0; i < spins; i++)
		touched++;
}

static void wait_for(MPI_Request both[2], bool yields)
{
	MPI_Status done[2];
	int all = 0;

	if (!yields)
		MPI_Waitall(2, both, done);
	while (yields && !all) {
		MPI_Testall(2, both, &all, done);
		if (!all)
			sched_yield();
	}
}

/* By dissemination: after a round of distance d a rank has heard, itself or by
 * others, of the 2d ranks before it.  Returns whether any rank is at its end. */
static bool meet(bool yields, bool at_end)
{
	MPI_Request both[2];
	char in = 0, out = at_end;

	for (int d = 1; d < ranks; d *= 2) {
		MPI_Irecv(&in, 1, MPI_CHAR, (rank + ranks - d) % ranks, 0,
			  MPI_COMM_WORLD, &both[0]);
		MPI_Isend(&out, 1, MPI_CHAR, (rank + d) % ranks, 0,
			  MPI_COMM_WORLD, &both[1]);
		wait_for(both, yields);
		out |= in;
	}
	return out;
}

static struct meeting *map_meetings(int fd)
{
	size_t size = MOST * sizeof(struct meeting);
	struct meeting *m = MAP_FAILED;

	if (!ftruncate(fd, size))
		m = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_POPULATE, fd, 0);
	if (m == MAP_FAILED) {
		perror("barrier: mmap");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return m;
}

/* Returns how often it met. */
static int meet_and_spin(struct meeting *m, long spins, double seconds,
			 bool yields)
{
	long long until = now() + seconds * 1e9;
	bool last = false;
	int times = 0;

	meet(yields, false);
	while (!last && times < MOST) {
		spin(spins);
		m[times].begin = now();
		last = meet(yields,
			    times + 1 >= LEAST && m[times].begin > until);
		m[times++].end = now();
	}
	return times;
}

static void note_meetings(const char *name, long spins, double seconds,
			  bool yields)
{
	struct meeting *m;
	char path[4096];
	int fd, times;

	snprintf(path, sizeof(path), "%s.%d.%ld", name, rank, spins);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	if (fd < 0) {
		perror(path);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	m = map_meetings(fd);
	times = meet_and_spin(m, spins, seconds, yields);
	munmap(m, MOST * sizeof(*m));
	if (ftruncate(fd, times * sizeof(*m)) || close(fd))
		MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
	double seconds;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	seconds = argc > 5 ? atof(argv[4]) : 0;
	if (seconds <= 0)
		MPI_Abort(MPI_COMM_WORLD, 2);
	begin_with(argv[1]);
	for (int i = 5; i < argc; i++)
		note_meetings(argv[2], atol(argv[i]), seconds,
			      !strcmp(argv[3], "yield"));
	leave_mpi();
}
