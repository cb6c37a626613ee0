/*
 * proc_state.h - is another process stopped (SIGSTOP, a debugger)?  Asked of the
 * kernel, which knows at once and is never wrong; how long a process has said
 * nothing is not the same, for it may just be slow.  Nothing here knows of Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PROC_STATE_H
#define STORM_PROC_STATE_H

#include <stdbool.h>
#include <sys/types.h>

/* False also where there is none, or the kernel does not tell. */
bool proc_stopped(pid_t pid);

#endif
