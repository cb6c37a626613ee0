/*
 * each_command.h - replacement strings and quotes: from a row of arguments to the text of
 * a command.  Nothing here does input or output.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_COMMAND_H
#define STORM_EACH_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct each_options;
struct each_row;

/* The text for `$SHELL -c`, on the heap, with a NUL byte behind its len bytes; NULL:
 * no memory.  Where {%} belongs it has one byte 0: the slot is known only when
 * the task starts. */
char *each_command(const struct each_options *o, const struct each_row *row,
		   uint64_t seq, size_t *len);

/* How many bytes the row's arguments add to a command that has others; SIZE_MAX: no
 * memory. */
size_t each_command_share(const struct each_options *o,
			  const struct each_row *row);

/* Likewise for another text with replacement strings, as --tagstring, --wd and
 * --results have: values are not quoted, and none is appended. */
char *each_text(const struct each_options *o, const char *text,
		const struct each_row *row, uint64_t seq, size_t *len);

/* Has the text a replacement string? */
bool each_has_names(const struct each_options *o, const char *text);

/* The same text with the slot's number at each byte 0, on the heap; NULL: no memory. */
char *each_with_slot(const char *text, size_t len, uint32_t slot);

/* --results DIR without replacement strings: the directory of a row's files, below DIR,
 * such as DIR/1/a/2/b.  On the heap; NULL: no memory. */
char *each_results_dir(const char *dir, const struct each_row *row);

#endif
