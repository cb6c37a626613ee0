/*
 * launcher_base.h - what the head and launchers share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCHER_BASE_H
#define STORM_LAUNCHER_BASE_H

#include <netinet/in.h>
#include <stddef.h>

#include "src/libstorm/storm.h"
#include "src/storm_common/storm_conf.h"

/* The storm.conf beside slurm.conf, or the defaults; read once.  Not thread-safe. */
const struct storm_conf *launcher_conf(void);
/* Its settings, for a domain of the job's own.  Likewise. */
void launcher_settings(struct storm_settings *set);

/* Log to stderr, with the time and this name.  Not thread-safe. */
void launcher_log_as(const char *name);

/* As many descriptors as the hard limit has: a client or a task that writes needs
 * some.  Tasks get the limit of their client. */
void launcher_many_files(void);

/* Where a socket of IPv4 finds it. */
struct sockaddr_in launcher_sockaddr(const struct storm_addr *a);

/* What `why` says if others serve clients: two had begun at once, on different hosts. */
#define LAUNCHERS_THERE "launchers are there already"

/* The lock of a job's launchers on this host, beside the clients' path: others have
 * ended.  -1, and why. */
int launcher_lock(const char *socket, char *why, size_t size);

/* An exact copy; ends the process if there is no memory. */
void *launcher_copy(const void *buf, size_t len);

#endif
