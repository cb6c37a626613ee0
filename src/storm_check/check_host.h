/*
 * check_host.h - what this host is like: each function tells what it finds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_HOST_H
#define STORM_CHECK_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/storm_common/storm_conf.h"

/* Port, interface, kernel, munged, real time, control groups, disks. */
void check_host(const struct storm_conf *conf);
/* The first line of a file, without its end.  False: it cannot be read. */
bool host_first_line(const char *path, char *out, unsigned long size);
/* A process with this name, or 0.  slurmd and the agent are root's: any user's may
 * have their names, too. */
pid_t host_daemon(const char *name);
/* A file of a process: its line that begins so, after that.  False: none. */
bool host_line_of(pid_t pid, const char *file, const char *begin, char *out,
		  size_t size);

#endif
