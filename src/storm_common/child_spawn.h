/*
 * child_spawn.h - start a program of STORM (node agent or strober) from a
 * plugin.  It runs in its own session and in /, with no signal blocked or
 * ignored.  It gets descriptors 0 to 2, and those that the caller names.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHILD_SPAWN_H
#define STORM_CHILD_SPAWN_H

#include <sys/types.h>

struct child_fds {
	int in;	 /* its standard input; -1: /dev/null */
	int log; /* its standard output and error */
	/* From 3 on; each is above 2 + nmore, or its own number. */
	const int *more;
	int nmore;
};

/* Start the program.  The caller keeps all descriptors.  conffile: the child's
 * SLURM_CONF; NULL: the caller's.  Returns 0 and *pid, or an errno that was
 * logged. */
int child_spawn(const char *path, char *const argv[], const char *conffile,
		const struct child_fds *fds, pid_t *pid);

#endif
