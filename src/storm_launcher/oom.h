/*
 * oom.h - how many processes of this one's control group the kernel has killed for memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_OOM_H
#define STORM_OOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file that counts them, by the text of /proc/self/cgroup and of /proc/self/mountinfo.
 * False: there is no group of memory, or the path is too long. */
bool oom_path(const char *groups, const char *mounts, char *out, size_t size);
/* Its number, by the text of that file; 0: it has none. */
uint64_t oom_count(const char *text);

/* Find the file, once; and what it says now.  Not thread-safe. */
void oom_open(void);
uint64_t oom_now(void);

#endif
