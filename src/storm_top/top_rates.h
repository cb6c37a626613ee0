/*
 * top_rates.h - what the agents count, and by how much it grows in a second.  Without
 * Slurm and I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TOP_RATES_H
#define STORM_TOP_RATES_H

#include "src/storm_status/status_facts.h"

enum top_count {
	TOP_STEPS,
	TOP_FALLBACKS, /* steps that Slurm launched in STORM's place */
	TOP_LAUNCHES,
	TOP_LAUNCHES_FAILED,
	TOP_FILES,
	TOP_FILES_FAILED,
	TOP_BYTES,
	TOP_SIGNALS,
	TOP_REPAIRED,
	TOP_COUNTS
};

/* The sums of one answer. */
struct top_counts {
	bool seen; /* the agents say what they count; PrivateData can hide it */
	uint64_t began, at; /* ns, from when to when they were asked */
	uint64_t who;	    /* a digest of which nodes answered */
	uint64_t agents;    /* that say their age */
	uint64_t age;	    /* s, the sum over these */
	uint64_t sum[TOP_COUNTS];
};

struct top_rates {
	bool known;
	double per_second[TOP_COUNTS];
};

/* The name of a counter, as JSON has it. */
const char *top_count_name(enum top_count c);
/* They were asked from began to at, ns. */
void top_counts_of(const struct status_nodes *n, const struct status_answer *a,
		   uint64_t began, uint64_t at, struct top_counts *out);
/* Not known: the two are not of the same agents, or one of them has begun anew. */
void top_rates_of(const struct top_counts *before, const struct top_counts *now,
		  struct top_rates *out);

#endif
