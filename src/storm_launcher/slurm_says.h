/*
 * slurm_says.h - what Slurm's own commands print: a launcher has nothing of Slurm in it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_SAYS_H
#define STORM_SLURM_SAYS_H

#include <stdbool.h>

/* Execute it, and give each of its lines to line(), without its end; argv ends with NULL.
 * False: it cannot be executed.  It waits until the command has ended. */
bool slurm_says(char *const *argv, void (*line)(void *arg, char *text),
		void *arg);

#endif
