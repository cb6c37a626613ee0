/*
 * resident_others.h - other SPANK plugins in srun: which of them have work to do for each
 * step?
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RESIDENT_OTHERS_H
#define STORM_RESIDENT_OTHERS_H

#include <stdbool.h>
#include <stddef.h>

/* True: one has; which, or which option of it srun was given, is in why.  Called when
 * srun has read its options. */
bool resident_others_want(char *why, size_t size);

#endif
