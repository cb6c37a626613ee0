/*
 * each_refused.h - options of GNU parallel that storm each does not have, with the reason
 * and the remedy.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_REFUSED_H
#define STORM_EACH_REFUSED_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

/* Long options and letters are as many at most. */
size_t each_refused_count(void);

/* For getopt_long(3), behind the others; both end as it wants. */
void each_refused_options(struct option *out, char *letters);

/* Is the option refused?  Then it was said why.  The name is NULL for a letter. */
bool each_refuse(int option, const char *long_name);

#endif
