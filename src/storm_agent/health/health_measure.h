/*
 * health_measure.h - measures what a check needs.  Each function may hang, so it runs in
 * a child (health_round.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_HEALTH_MEASURE_H
#define STORM_HEALTH_MEASURE_H

#include "health_judge.h"

/* What the checks are about. */
struct health_place {
	const char *node;
	uint16_t slurmd_port;
	const char *conf; /* slurm.conf, for the program; or NULL */
};

/* Measure, and fill *out.  Not for HEALTH_CHECK_PROGRAM. */
void health_measure(enum health_kind kind, const char *name,
		    const struct health_place *at, struct health_sample *out);

/* Become the site's program: standard output and error go to `out`.  It returns only if
 * it cannot: with an errno, and the reason in *why. */
int health_program_run(const char *path, const struct health_place *at, int out,
		       char (*why)[HEALTH_LINE]);

#endif
