/*
 * child_limit.h - waits with a limit for a child that does one thing and ends.
 * The child asks a file system or a name service, which may not answer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHILD_LIMIT_H
#define STORM_CHILD_LIMIT_H

#include <stdbool.h>
#include <sys/types.h>

/* Wait at most ms for the child's end, then kill it and set *late, which may be
 * NULL. Returns its status as waitpid(2) has it.  -1: SIGKILL did not end it
 * within a second, so it hangs in the kernel; it can be waited for later.  Or another
 * part of the process has waited for it: nothing is killed, and it is not late. */
int child_limit(pid_t pid, int ms, bool *late);

#endif
