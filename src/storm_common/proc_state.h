/*
 * proc_state.h - asks the kernel whether another process is stopped (SIGSTOP, a
 * debugger) or was killed, and which program it runs.  The kernel knows at
 * once, and is never wrong.  Silence is no such proof: the process may be slow,
 * or it was killed and on a busy host waits for its turn to die, with its
 * connections open.  Nothing here depends on Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PROC_STATE_H
#define STORM_PROC_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Read the beginning of a file of the process in /proc, such as "stat", and end it by a
 * NUL.  How many bytes, or -1 and errno; buf is an empty text then. */
ssize_t proc_read(pid_t pid, const char *file, char *buf, size_t size);

/* The state of a process or a thread, a letter as in ps(1); '?': it does not exist, or cannot
 * be read. */
char proc_letter(pid_t pid);

/* Is the process stopped, or was it killed and is not waited for yet?  False
 * also if it does not exist or cannot be read. */
bool proc_stopped(pid_t pid);

/* Set st_dev, st_ino and st_uid of *out to those of the file of the process's
 * program.  False: the process is gone, or is a kernel thread.  Never waits for
 * the file system that has the file. */
bool proc_program(pid_t pid, struct stat *out);
/* Are these two, from stat() or proc_program(), one file? */
bool proc_same_file(const struct stat *a, const struct stat *b);

#endif
