/*
 * context_file.h - the leases of network contexts in StateSaveLocation: one record
 * for each id, written before slurmctld tells anybody of the lease, so that a
 * slurmctld that is killed at any moment leaves no lease behind that the next one
 * does not know.  slurmctld's own state is older by up to five seconds.
 *
 * Nothing is synced to disk, for that would cost milliseconds under slurmctld's
 * lock: a crash of the whole host may lose the last records, see
 * context_table_loaded().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONTEXT_FILE_H
#define STORM_CONTEXT_FILE_H

#include "context_table.h"

/* Open or make the file and load what it holds into t.  A descriptor, or -1 and
 * errno.  *damaged: how many records were none. */
int context_file_open(const char *path, struct context_table *t,
		      uint32_t *damaged);

/* 0, or -1 and errno. */
int context_file_put(int fd, const struct context_lease *l);

#endif
