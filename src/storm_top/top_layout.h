/*
 * top_layout.h - what storm top shows, as lines.  Without Slurm and I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TOP_LAYOUT_H
#define STORM_TOP_LAYOUT_H

#include "src/storm_jobs/jobs_model.h"
#include "top_rates.h"
#include "top_text.h"

/* What is known now. */
struct top_view {
	const char *time; /* of the clock on the wall */
	uint16_t port;	  /* the agents' */
	const struct status_nodes *nodes;
	const struct status_answer *answer; /* NULL: none so far */
	const char *agents_why; /* the last question got no answer; or NULL */
	double agents_old;	/* s, the answer's age; 0: it is new */
	struct top_counts counts;
	struct top_rates rates;
	const struct jobs *jobs; /* NULL: none so far */
	const char *jobs_why;
	double jobs_old;
};

/* Fill in the lines; the first one stays when others are scrolled. */
void top_layout(const struct top_view *v, struct top_text *out);
/* Is something wrong, or not known? */
bool top_is_wrong(const struct top_view *v);

/* top_tables.c: the matrix, and the jobs that share. */
void top_lay_matrix(const struct top_view *v, struct top_text *out);
void top_lay_jobs(const struct top_view *v, struct top_text *out);

#endif
