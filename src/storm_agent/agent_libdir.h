/*
 * agent_libdir.h - removes "<file>_libs" directories when their job ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_LIBDIR_H
#define STORM_AGENT_LIBDIR_H

#include <stdint.h>

struct agent;
struct agent_creds;

/* Read the list that an earlier agent has left. */
void agent_libdir_load(struct agent *a);
/* Remove path, as the user of c, when the job of c ends.  Copies both. */
void agent_libdir_add(struct agent *a, const struct agent_creds *c,
		      const char *path);
/* Ask slurmctld which jobs have ended, and remove their directories.  Returns
 * when to call again, or STORM_NEVER. */
uint64_t agent_libdir_tick(struct agent *a, uint64_t now);

#endif
