/*
 * spank_wait.h - --storm-wait=MODE: how the ranks of a step wait for each
 * other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SPANK_WAIT_H
#define STORM_SPANK_WAIT_H

#include <stdbool.h>

#include "slurm/spank.h"

extern struct spank_option spank_wait_option;

/* Is the value in srun's environment a mode?  False: it was logged what is
 * wrong. */
bool spank_wait_is_valid(void);

/* Make the page of the tasks' accounts (wait_page.h), if they have a mode.  In
 * slurmstepd, before tasks are forked.  If it fails, only the accounts are
 * missing. */
void spank_wait_begin(spank_t sp);

/* Preload the library that waits.  In a task, as its user, before the
 * program. */
void spank_wait_preload(spank_t sp);

#endif
