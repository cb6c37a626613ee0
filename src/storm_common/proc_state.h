/*
 * proc_state.h - is another process stopped (SIGSTOP, a debugger), or was it
 * killed?  The kernel knows at once, and is never wrong.  A process that is
 * silent may just be slow.  On a busy host one that was killed waits for its
 * turn to die, and its connections stay open meanwhile.  And which program does
 * it run?  Nothing here depends on Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PROC_STATE_H
#define STORM_PROC_STATE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Also true for a process that was killed and not yet waited for.  False if the
 * process does not exist or cannot be read. */
bool proc_stopped(pid_t pid);

/* The file of its program, of which only st_dev, st_ino and st_uid are set.  False:
 * the process is gone, or is a kernel thread.  It never waits for the file system
 * that has the file. */
bool proc_program(pid_t pid, struct stat *out);
/* Are these two, of stat() or of the above, one file? */
bool proc_same_file(const struct stat *a, const struct stat *b);

#endif
