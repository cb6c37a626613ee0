/*
 * spank_wait.h - --storm-wait=MODE: how the ranks of a step wait for each other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SPANK_WAIT_H
#define STORM_SPANK_WAIT_H

#include <stdbool.h>

#include "slurm/spank.h"

extern struct spank_option spank_wait_option;

/* In srun: is what the environment says a mode?  Says what is wrong. */
bool spank_wait_is_valid(void);

/* In slurmstepd, before tasks are forked: make the page of their accounts
 * (wait_page.h), if they are to have any.  Without it they only tell less. */
void spank_wait_begin(spank_t sp);

/* In a task, as its user, before the program: preload the library that waits. */
void spank_wait_preload(spank_t sp);

#endif
