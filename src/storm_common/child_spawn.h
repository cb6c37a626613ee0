/*
 * child_spawn.h - start a program of STORM (node agent or strober) from a
 * plugin.  It runs in its own session and in /, with no signal blocked or
 * ignored, and with descriptors 0 to 2 only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHILD_SPAWN_H
#define STORM_CHILD_SPAWN_H

#include <sys/types.h>

/*
 * in: its standard input; -1: /dev/null.  log: its standard output and error.
 * The caller keeps both descriptors.  conffile: its SLURM_CONF; NULL: the
 * caller's.  Returns 0 and *pid, or an errno that was logged.
 */
int child_spawn(const char *path, char *const argv[], const char *conffile,
		int in, int log, pid_t *pid);

#endif
