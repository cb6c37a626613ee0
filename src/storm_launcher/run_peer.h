/*
 * run_peer.h - is a process on this host of this job?  Slurm says so by the control
 * group in which it has put it, where it uses control groups.  No process of a user leaves
 * that.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_PEER_H
#define STORM_RUN_PEER_H

#include <stdbool.h>
#include <sys/types.h>

/* Longer ones are read so far. */
#define RUN_PEER_TEXT 8192 /* bytes, of a /proc/PID/cgroup */

/* Do texts of /proc/PID/cgroup say that the other process is in this one's job?  Yes also
 * if this one is in no job's group.  *job is the number of its job, or 0. */
bool run_peer_is_of_job(const char *own, const char *other, unsigned long *job);

/* Is it so of this process and that one?  pid 0: a process that this one cannot see. */
bool run_peer_is_near(pid_t pid, unsigned long *job);

#endif
