/*
 * no_gang.h - why a node takes no part in gang scheduling, as users read it in
 * Extra: a word for what its agent lacks.  No Slurm header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_NO_GANG_H
#define STORM_NO_GANG_H

#include <stdbool.h>

#define NO_GANG_WORD 32 /* with its NUL */

/* "no-gang(disk)": for the errno of the call that failed. */
void no_gang_word(int err, char (*out)[NO_GANG_WORD]);

/* May the same call succeed later? */
bool no_gang_passes(int err);

#endif
