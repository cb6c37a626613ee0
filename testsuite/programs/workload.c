/*
 * workload - what jobs are like that share cores: programs that compute, spin, block
 * and sleep, for storm_bench policy.
 *
 *	workload KIND PAGE SECONDS
 *
 * All ranks of the job are on one machine and map the file PAGE, which is all zeroes.
 * Its first 4 bytes become the number of ranks that are ready.  They begin when
 * PAGE.go is there.  Half a second later they count for SECONDS.  Rank 0 prints the
 * iterations of the slowest rank, and the mean nanoseconds that a burst of its notebook
 * took.
 *
 *	bsp		100 us of work, then a barrier by spinning
 *	io		the same, and each tenth time all sleep for 0.5 ms
 *	imbalanced	1.5 ms and 0.5 ms of work by turns, then a barrier that spins
 *			for 50 us and blocks
 *	compute		100 us of work
 *	mpi		the same, then an allreduce, if it is compiled with WORKLOAD_MPI
 *	notebook	20 ms of work, then 480 ms of sleep
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifdef WORKLOAD_MPI
#include <mpi.h>

#include "leave_mpi.h"
#endif

#define RANKS 64
#define SPIN 50000 /* ns until a barrier blocks */
#define WARM 500000000

struct page {
	_Atomic uint32_t ready;
	_Atomic uint32_t wake;
	_Atomic uint64_t begin; /* to count */
	_Atomic uint64_t end;
	struct {
		_Atomic uint64_t at, first;
		char pad[48];
	} rank[RANKS];
};

static struct page *page;
static int rank, ranks;
static double unit = 400; /* multiplications in a microsecond */
static volatile double sink;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void nap(uint64_t ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000,
			      .tv_nsec = ns % 1000000000 };

	nanosleep(&t, NULL);
}

static void work(double us)
{
	double x = 1.000001;

	for (long i = 0; i < us * unit; i++)
		x *= 1.0000001;
	sink = x;
}

/* The fastest of some tries is the one that nobody interrupted. */
static void calibrate(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 50; i++) {
		uint64_t begun = now();

		work(100);
		begun = now() - begun;
		if (begun < least)
			least = begun;
	}
	unit = unit * 100000 / least;
}

static bool by_mpi, met_last;

static bool over(void)
{
	return by_mpi ? met_last : now() >= page->end;
}

static bool all_at(uint64_t n)
{
	for (int i = 0; i < ranks; i++)
		if (page->rank[i].at < n)
			return false;
	return true;
}

static void block(uint64_t n)
{
	const struct timespec limit = { .tv_nsec = 20000000 };
	uint32_t seen = page->wake;

	if (!all_at(n))
		syscall(SYS_futex, &page->wake, FUTEX_WAIT, seen, &limit, NULL,
			0);
}

/* False: it is over. */
static bool barrier(uint64_t n, bool blocks)
{
	uint64_t since = now();

	page->rank[rank].at = n;
	if (blocks) {
		page->wake++;
		syscall(SYS_futex, &page->wake, FUTEX_WAKE, INT_MAX, NULL, NULL,
			0);
	}
	while (!all_at(n)) {
		if (over())
			return false;
		if (blocks && now() > since + SPIN)
			block(n);
	}
	return true;
}

#ifdef WORKLOAD_MPI
static void join_mpi(void)
{
	MPI_Init(NULL, NULL);
}

/* The first rank that is over tells the others, which would wait for it else. */
static bool meet(void)
{
	int mine = now() >= page->end, any;

	MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	return any;
}
#else
static void join_mpi(void)
{
	fprintf(stderr, "workload: compiled without MPI\n");
	exit(2);
}

static bool meet(void)
{
	return true;
}

static void leave_mpi(void)
{
}
#endif

static uint64_t bursts, bursts_ns;

static void burst(void)
{
	uint64_t begun = now();

	work(20000);
	if (begun >= page->begin) {
		bursts_ns += now() - begun;
		bursts++;
	}
	nap(480000000);
}

static void iterate(const char *kind, uint64_t i)
{
	bool io = !strcmp(kind, "io"), blocks = !strcmp(kind, "imbalanced");

	if (!page->rank[rank].first && now() >= page->begin)
		page->rank[rank].first = i;
	if (!strcmp(kind, "notebook")) {
		burst();
	} else {
		work(!blocks ? 100 : (i + rank) % 2 ? 1500 : 500);
		if (by_mpi)
			met_last = meet();
		else if (strcmp(kind, "compute") && !barrier(i, blocks))
			return;
		if (io && i % 10 == 0)
			nap(500000);
	}
	page->rank[rank].at = i;
}

static int variable(const char *name, int without)
{
	return getenv(name) ? atoi(getenv(name)) : without;
}

static void begin(const char *path, double seconds)
{
	int fd = open(path, O_RDWR);
	char go[PATH_MAX];

	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	if (fd < 0 || page == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	calibrate();
	snprintf(go, sizeof(go), "%s.go", path);
	page->ready++;
	while (access(go, F_OK))
		nap(1000000);
	if (!rank) {
		page->begin = now() + WARM;
		page->end = page->begin + seconds * 1e9;
	}
	while (!page->end)
		nap(100000);
}

static uint64_t counted(int of)
{
	uint64_t at = page->rank[of].at, first = page->rank[of].first;

	return first && at > first ? at - first : 0;
}

int main(int argc, char **argv)
{
	uint64_t least = UINT64_MAX;

	rank = variable("SLURM_PROCID", 0);
	ranks = variable("SLURM_NTASKS", 1);
	if (argc != 4 || ranks > RANKS)
		return 2;
	prctl(PR_SET_TIMERSLACK, 1);
	by_mpi = !strcmp(argv[1], "mpi");
	if (by_mpi)
		join_mpi();
	begin(argv[2], atof(argv[3]));
	for (uint64_t i = 1; !over(); i++)
		iterate(argv[1], i);
	for (int i = 0; i < ranks; i++)
		if (counted(i) < least)
			least = counted(i);
	if (!rank)
		printf("%lu %lu\n", (unsigned long) least,
		       (unsigned long) (bursts ? bursts_ns / bursts : 0));
	if (by_mpi)
		leave_mpi();
	return 0;
}
