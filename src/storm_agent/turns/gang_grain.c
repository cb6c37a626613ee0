/*
 * gang_grain.c - see gang_grain.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "gang_grain.h"

#define WAITS 0.1 /* of the time */

static void gang_grain_judge(struct gang_grain *g)
{
	double all = (double) g->computed + (double) g->waited;
	double part = all > 0 ? (double) g->waited / all : 0;
	double work = (double) g->ran * (1 - part); /* of all waits */
	double slack = g->fine ? 2 : 1;

	*g = (struct gang_grain) {
		.fine = part >= WAITS / slack &&
			work < slack * GANG_GRAIN_FINE * (double) g->waits,
	};
}

/* What is forged may be anything: sums then wrap around, and do not harm. */
void gang_grain_add(struct gang_grain *g, uint64_t waits, uint64_t computed,
		    uint64_t waited, uint64_t ran)
{
	g->waits += waits;
	g->computed += computed;
	g->waited += waited;
	g->ran += ran;
	g->quiet = waits ? 0 : g->quiet + 1;
	if (g->quiet == GANG_GRAIN_QUIET)
		*g = (struct gang_grain) { 0 };
	if (g->ran >= GANG_GRAIN_TIME)
		gang_grain_judge(g);
}
