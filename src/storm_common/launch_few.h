/*
 * launch_few.h - which steps are too small for STORM's launch (LaunchNodes).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCH_FEW_H
#define STORM_LAUNCH_FEW_H

#include <stdbool.h>
#include <stdint.h>

#include "src/common/slurm_opt.h"

#include "storm_conf.h"

/* The values of storm.conf, which is read once.  NULL: something in it is
 * wrong, and STORM's launch says what. */
const struct storm_conf *launch_few_conf(void);
/* LaunchNodes of storm.conf; 2 if that is wrong. */
uint32_t launch_few_least(void);

/* Is it sure, by these options of a component, that the step has no file and
 * fewer nodes than LaunchNodes?  False: it may have more. */
bool launch_few_surely(const slurm_opt_t *opt);

/* Say at -v that Slurm launches the step, on so many nodes.  most: "", or "at
 * most ". */
void launch_few_say(const char *most, uint32_t nodes);
/* Say so after launch_few_surely(), before the step is created. */
void launch_few_say_surely(const slurm_opt_t *opt);

/* Must the step's timeline be written (STORM_TIMELINE)?  Only STORM's launch
 * does that. */
bool launch_few_is_timed(void);

#endif
