/*
 * child_limit.h - wait for a child that does one thing and ends, with a limit: what
 * it asks, a file system or a name service, may not answer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHILD_LIMIT_H
#define STORM_CHILD_LIMIT_H

#include <stdbool.h>
#include <sys/types.h>

/* Wait at most ms for the child's end, then kill it: that is *late, which may be
 * NULL.  Returns its status as waitpid(2) has it; or -1: SIGKILL does not end it
 * within a second.  It hangs in the kernel, and can be waited for later. */
int child_limit(pid_t pid, int ms, bool *late);

#endif
