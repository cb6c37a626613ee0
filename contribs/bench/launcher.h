/*
 * launcher.h - other launchers: the times that the STORM paper found in the
 * literature (its Table 4), and the lines it fitted through them (Table 5).
 *
 * Plain arithmetic: no I/O, no state, any thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCHER_H
#define STORM_LAUNCHER_H

#include <stdbool.h>

#define STORM_LAUNCHER_NODES 4096 /* of Table 5 */

/* t = slope * nodes + base, or slope * lg(nodes) + base; seconds. */
struct storm_launcher {
	const char *name;
	double size; /* MB of the program */
	bool logarithmic;
	double slope, base; /* as Table 5 prints them */
	/* The slope with more digits.  Rounded to Table 5's it is the same; with
	 * it all digits of Table 5's time come out.  See launcher.c. */
	double fine_slope;
	double printed;		/* Table 5's time, s */
	double measured, nodes; /* Table 4: s, on so many */
};

/* All of them, ended by a NULL name. */
extern const struct storm_launcher storm_launchers[];

/* Seconds on so many nodes, by this slope: l->slope or l->fine_slope. */
double storm_launcher_time(const struct storm_launcher *l, double slope,
			   double nodes);
/* The first power of two of nodes at which the STORM of model.h, on the paper's
 * network and ES40, takes longer to launch 12 MB.  0: none up to 2^62. */
double storm_launcher_crossover(const struct storm_launcher *l);

#endif
