/*
 * metrics_text.h - metrics as text for Prometheus.  Without Slurm and without I/O but
 * the output.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_METRICS_TEXT_H
#define STORM_METRICS_TEXT_H

#include <stdio.h>

#include "metrics_model.h"

enum metrics_form {
	METRICS_OPEN, /* OpenMetrics 1.0 */
	/* Prometheus' older text 0.0.4, the only one that node_exporter and promtool read */
	METRICS_PLAIN
};

/* What of it the text is made of. */
struct metrics_shown {
	const struct metrics *m;
	const uint64_t *counter; /* METRICS_COUNTERS of them; NULL: not known */
	const uint64_t *gaps;	 /* NULL: nothing is counted on */
};

void metrics_text(FILE *f, const struct metrics_shown *s,
		  enum metrics_form form);

/* A label's value, with its quotes.  It stays within them, whatever it is. */
void metrics_label(FILE *f, const char *value);

#endif
