/*
 * proc_state.h - is another process stopped (SIGSTOP, a debugger), or has it been
 * killed?  Asked of the kernel, which knows at once and is never wrong; how long a
 * process has said nothing is not the same, for it may just be slow.  Nor is the
 * end of its connections: on a busy machine a process that was killed has to wait
 * for its turn to die, and does nothing meanwhile.  Nothing here knows of Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PROC_STATE_H
#define STORM_PROC_STATE_H

#include <stdbool.h>
#include <sys/types.h>

/* False also where there is no such process any more, or the kernel does not tell. */
bool proc_stopped(pid_t pid);

#endif
