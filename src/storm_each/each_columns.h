/*
 * each_columns.h - --colsep: items are rows of a table, and a regular expression is between
 * their columns.  parallel's are Perl's; these are extended ones of POSIX with Perl's
 * most common escapes, and what else Perl has is refused by name.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_COLUMNS_H
#define STORM_EACH_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

struct each_columns;

/* NULL: why says why. */
struct each_columns *each_columns_create(const char *colsep, char *why,
					 size_t size);

/* The text's next column: its length.  *rest is what comes behind the separator; NULL:
 * it was the last one. */
size_t each_columns_next(const struct each_columns *c, const char *text,
			 const char **rest);

/* NULL is nothing. */
void each_columns_destroy(struct each_columns *c);

#endif
