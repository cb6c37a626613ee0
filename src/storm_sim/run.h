/*
 * run.h - one run of a scenario: what it took, and whether what was seen is
 * what the primitives promise.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SIM_RUN_H
#define STORM_SIM_RUN_H

#include <stdio.h>

#include "scenario.h"

#define RUN_WHY 256

/* The scenario is settled.  True: no violation; otherwise why says which.
 * *figures is an object of the caller's in both cases. */
bool run_scenario(const struct scenario *s, json_object **figures,
		  char why[RUN_WHY]);
void figures_print(json_object *figures, FILE *out);

#endif
