/*
 * run.h - runs a scenario: yields its figures, and whether the nodes showed
 * what the primitives promise.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SIM_RUN_H
#define STORM_SIM_RUN_H

#include <stdio.h>

#include "scenario.h"

#define RUN_WHY 256

/* Run a settled scenario (scenario_settle()).  True: no violation; otherwise
 * why describes it.  The caller owns *figures in both cases. */
bool run_scenario(const struct scenario *s, json_object **figures, char *why,
		  size_t room);
void figures_print(json_object *figures, FILE *out);

#endif
