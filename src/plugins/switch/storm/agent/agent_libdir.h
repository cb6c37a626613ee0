/*
 * agent_libdir.h - "<file>_libs" directories, until their job ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_LIBDIR_H
#define STORM_AGENT_LIBDIR_H

#include <stdint.h>

struct agent;
struct agent_creds;

/* Those that an earlier agent has left. */
void agent_libdir_load(struct agent *a);
void agent_libdir_add(struct agent *a, const struct agent_creds *c,
		      const char *path);
/* When to call again. */
uint64_t agent_libdir_tick(struct agent *a, uint64_t now);

#endif
