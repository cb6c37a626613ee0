/*
 * check_host.h - looks at this host.  Findings go to check_tell().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_HOST_H
#define STORM_CHECK_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "src/storm_common/storm_conf.h"

/* Check port, kernel, munged, real time, control groups and disks. */
void check_host(const struct storm_conf *conf);
/* Check the interface.  place: the one by which nodes reach this host, of which
 * Slurm's library is asked; "": nothing shows it. */
void check_host_interface(const struct storm_settings *s, const char *place);
/* Copy the first line of a file to out, without its end.  False: it cannot be
 * read. */
bool host_first_line(const char *path, char *out, unsigned long size);
/* The pid of a process with this name; 0: there is none.  It must be root's, as
 * slurmd and the agent are (slurmctld need not be), because a user's process
 * can have any name. */
pid_t host_daemon(const char *name);
/* Copy to out what follows `begin` in the line that begins with it, of a file
 * of the process in /proc.  False: there is no such line. */
bool host_line_of(pid_t pid, const char *file, const char *begin, char *out,
		  size_t size);

#endif
