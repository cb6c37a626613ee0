/*
 * context_file.h - the leases of network contexts in StateSaveLocation, one
 * record for each id.  slurmctld writes the record before it announces the
 * lease.  So if it is killed at any moment, the next one knows every lease.
 * slurmctld's own state may be five seconds older.
 *
 * Nothing is synced to disk, which would take milliseconds under slurmctld's
 * lock.  So a crash of the host may lose the last records:
 * context_table_loaded().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONTEXT_FILE_H
#define STORM_CONTEXT_FILE_H

#include "context_table.h"

/* Open or make the file and load its leases into t.  Returns a descriptor,
 * which the caller closes, or -1 and errno.  *damaged: number of unusable
 * records. */
int context_file_open(const char *path, struct context_table *t,
		      uint32_t *damaged);

/* Write the record of l->id.  0, or -1 and errno. */
int context_file_put(int fd, const struct context_lease *l);

#endif
