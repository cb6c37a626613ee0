/*
 * child_spawn.h - how our plugins start a program of ours (the node agent, the
 * strober): in a session of its own, with no signal blocked or ignored, no
 * descriptor but the three that it is given, and the working directory /.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHILD_SPAWN_H
#define STORM_CHILD_SPAWN_H

#include <sys/types.h>

/*
 * in: its standard input, -1: /dev/null; log: its standard output and error; both
 * stay the caller's.  conffile: what it finds as SLURM_CONF, NULL: what is there.
 * 0 and *pid, or an errno that was logged.
 */
int child_spawn(const char *path, char *const argv[], const char *conffile,
		int in, int log, pid_t *pid);

#endif
