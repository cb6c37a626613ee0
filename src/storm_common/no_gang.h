/*
 * no_gang.h - the word by which users read in a node's Extra why it takes no
 * part in gang scheduling.  It names what the node's agent lacks.  No Slurm
 * header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_NO_GANG_H
#define STORM_NO_GANG_H

#include <errno.h>
#include <stdbool.h>

#define NO_GANG_WORD 32	     /* with its NUL */
#define NO_GANG_SLURMD ESRCH /* the errno of a node whose slurmd does not run */

/* Write the word, such as "no-gang(disk)", for the errno of the call that
 * failed. */
void no_gang_word(int err, char (*out)[NO_GANG_WORD]);

/* May the same call succeed later? */
bool no_gang_passes(int err);

#endif
