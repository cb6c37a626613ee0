/*
 * metrics_count.h - counters that only rise, of sums that do not.  Without Slurm and
 * without I/O.
 *
 * A sum over agents falls when one of them begins anew or does not answer, and jumps
 * when that one is back.  Prometheus takes a fall for a counter that began at 0, and
 * would count the whole sum again.  So a total here grows by what a sum has grown, and
 * only while no node has come that was not in the last answer: it never counts too much.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_METRICS_COUNT_H
#define STORM_METRICS_COUNT_H

#include "metrics_text.h"

/* All-zero: nothing was counted yet. */
struct metrics_count {
	uint64_t total[METRICS_COUNTERS];
	/* how often something may be missing in them: agents began anew, came, or went */
	uint64_t gaps;

	/* the last answer */
	char *names; /* as metrics_names() has them (free); NULL: none */
	uint64_t last[METRICS_COUNTERS];
	uint64_t age, at;
};

/* Count what is new.  Takes over names. */
void metrics_count_add(struct metrics_count *c, const struct metrics *m,
		       char *names);
/* What is to be told: m, and what was counted, if it is known at all.  It points to
 * both. */
struct metrics_shown metrics_count_shown(const struct metrics_count *c,
					 const struct metrics *m);
/* As text (free), so that another process goes on.  NULL: no memory. */
char *metrics_count_text(const struct metrics_count *c);
/* Read such a text; false: it is none, and *out is all-zero. */
bool metrics_count_read(const char *text, struct metrics_count *out);
void metrics_count_clear(struct metrics_count *c);

#endif
