/*
 * failed_keep.h - what was given up on nodes that may come back, in a file of
 * StateSaveLocation: another slurmctld ends it, too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FAILED_KEEP_H
#define STORM_FAILED_KEEP_H

#include "failed_steps.h"

/* Add what the file has to *given.  Says why, if there is one that cannot be read.
 * Needs no lock. */
void failed_keep_load(struct failed_given *given);
/* Write the file, or remove it if there is nothing.  Returns when it is on disk, so the
 * caller holds no lock.  Says why, if it cannot be written, once until it can. */
void failed_keep_save(const struct failed_given *given);

#endif
