/*
 * wait_report.c - tell how the ranks have waited.
 *
 * Granularity is the mean computation before a wait.  With the part of the time
 * that is waiting it says whether a program gains by being coscheduled.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "wait_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wait_loop.h"
#include "wait_mpi.h"

#define FEW 100		 /* so few waits cost nobody much */
#define MUCH_WAITING 0.2 /* of the time */

struct report_line {
	double waits, before, part; /* before a wait: us */
};

static struct report_line report_own(void)
{
	struct wait_account a = wait_loop_account();
	double all = (double) (a.computed + a.waited);

	return (struct report_line) {
		.waits = (double) a.waits,
		.before = a.waits ?
				  (double) a.computed / 1e3 / (double) a.waits :
				  0,
		.part = a.waits ? (double) a.waited / all : 0,
	};
}

static double report_least(double a, double b)
{
	return a < b ? a : b;
}

static double report_most(double a, double b)
{
	return a > b ? a : b;
}

static void report_print(const struct report_line *lines, int ranks)
{
	struct report_line sum = { 0, 0, 0 }, low = *lines, high = *lines;

	for (int i = 0; i < ranks; i++) {
		sum.waits += lines[i].waits;
		sum.before += lines[i].before;
		sum.part += lines[i].part;
		low.before = report_least(low.before, lines[i].before);
		low.part = report_least(low.part, lines[i].part);
		high.before = report_most(high.before, lines[i].before);
		high.part = report_most(high.part, lines[i].part);
	}
	fprintf(stderr,
		"storm: --storm-wait=%s: %d ranks, %.0f waits of each; computing before a wait %.1f us (%.1f to %.1f), waiting %.1f %% of the time (%.1f to %.1f)\n",
		wait_mode_name(wait_loop_mode()->kind), ranks,
		sum.waits / ranks, sum.before / ranks, low.before, high.before,
		100 * sum.part / ranks, 100 * low.part, 100 * high.part);
}

/* All ranks call it. */
static void report_all(const struct wait_mpi_kind *mpi,
		       const struct report_line *own, int rank, void *caller)
{
	static struct wait_symbol size = { "PMPI_Comm_size", NULL },
				  gather = { "PMPI_Gather", NULL };
	int (*ask)(wait_word, int *) = wait_mpi_need(&size, caller);
	int (*collect)(const void *, wait_word, wait_word, void *, wait_word,
		       wait_word, wait_word,
		       wait_word) = wait_mpi_need(&gather, caller);
	wait_word reals = sizeof(*own) / sizeof(double);
	struct report_line *lines;
	int ranks;

	if (ask(mpi->world, &ranks) ||
	    !(lines = calloc((size_t) ranks, sizeof(*lines))))
		return;
	if (!collect(own, reals, mpi->real, lines, reals, mpi->real, 0,
		     mpi->world) &&
	    !rank)
		report_print(lines, ranks);
	free(lines);
}

/* Where waiting costs more than it gives. */
static void report_cost(const struct report_line *own)
{
	const struct wait_mode *m = wait_loop_mode();
	double often = m->kind == WAIT_SLICE ?
			       (double) m->first / 1e3 :
			       (double) (m->first + m->second) / 1e3;

	if (own->waits < FEW || own->part < MUCH_WAITING || own->before > often)
		return;
	fprintf(stderr,
		"storm: --storm-wait=%s: rank 0 computes for %.0f us only before it waits, and waits %.0f %% of the time: %s\n",
		wait_mode_name(m->kind), own->before, 100 * own->part,
		m->kind == WAIT_SLICE ?
			"--storm-wait=block costs such a program less" :
			"no option costs it less where no other job has its processors");
}

static int report_rank(wait_word world, void *caller)
{
	static struct wait_symbol symbol = { "PMPI_Comm_rank", NULL };
	int (*ask)(wait_word, int *) = wait_mpi_need(&symbol, caller);
	int rank;

	return ask(world, &rank) ? -1 : rank;
}

static bool report_is_due(void *caller)
{
	static struct wait_symbol symbol = { "PMPI_Initialized", NULL };
	static atomic_flag told = ATOMIC_FLAG_INIT;
	int (*ask)(int *) = wait_mpi_need(&symbol, caller);
	int is = 0;

	return !ask(&is) && is && !atomic_flag_test_and_set(&told);
}

void wait_report(void *caller)
{
	struct report_line own = report_own();
	const char *stats = getenv("STORM_WAIT_STATS");
	const struct wait_mpi_kind *mpi;
	int rank;

	mpi = wait_mpi_kind(caller);
	if (!report_is_due(caller) || mpi->is == WAIT_OTHER_MPI)
		return;
	rank = report_rank(mpi->world, caller);
	if (!rank && wait_loop_refusal())
		fprintf(stderr, "storm: --storm-wait=%s: %s\n",
			wait_mode_name(wait_loop_mode()->kind),
			wait_loop_refusal());
	if (wait_loop_refusal())
		return;
	if (stats && *stats && strcmp(stats, "0"))
		report_all(mpi, &own, rank, caller);
	if (!rank && !wait_loop_spins())
		report_cost(&own);
}
