/*
 * spank_turns.h - --storm-turns=yield: out of their turns a job's steps give way, and
 * are not stopped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SPANK_TURNS_H
#define STORM_SPANK_TURNS_H

#include <stdbool.h>

#include "slurm/spank.h"

/* As LAUNCH_ENV, it goes into a job with --export=NONE. */
#define TURNS_ENV "SLURM_STORM_TURNS"

extern struct spank_option spank_turns_option;

/* Is the variable of the environment right?  Says what is wrong. */
bool spank_turns_is_valid(void);
/* In slurmstepd: does this step ask for it? */
bool spank_turns_yield(spank_t sp);

#endif
