/*
 * srun_words.h - which of the lines that srun has written say why its step did not begin,
 * or did not stay.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SRUN_WORDS_H
#define STORM_SRUN_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* srun's errors of that text, with '|' between them: from the first on, as many whole
 * ones as have room.  The first names the node that has failed.  Those of tasks follow
 * from srun's own end, and are left out.  False, and out is "": there are none. */
bool srun_errors(const char *text, char *out, size_t size);

/* Has srun failed to launch its step, or lost a node?  Other errors, as those of a site's
 * plugin, can be harmless. */
bool srun_has_lost(const char *errors);

/* The last whole lines of all that have room; of one line its end. */
void srun_last_words(const char *text, char *out, size_t size);

#endif
