/*
 * conf_file.h - reads a file in slurm.conf's syntax: one Key=Value in a line,
 * or several where the first one allows that; comments, continued lines, and
 * Include.
 *
 * Slurm's own reader reports errors only in its log, and waits a minute for a
 * file that does not exist.  This one needs nothing of Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_FILE_H
#define STORM_CONF_FILE_H

#include <stdbool.h>

struct conf_file_calls {
	/* A line's first key, as it is written, its place ("file:line"), and
	 * its value without quotes.  Strings are valid during the call. */
	void (*key_found)(void *arg, const char *place, const char *key,
			  const char *value);
	/* May other keys follow this one on its line?  NULL: never. */
	bool (*takes_more)(void *arg, const char *key);
	/* A key that follows the last key_found() on its line. */
	void (*more_found)(void *arg, const char *place, const char *key,
			   const char *value);
	/* A line, or a file, cannot be read.  text: one line that begins with
	 * the place. */
	void (*wrong)(void *arg, const char *text);
	void *arg;
};

/* Read all lines of a file, also those that follow a wrong one. */
void conf_file_read(const char *path, const struct conf_file_calls *calls);
/* Read all lines of a text; name: what places call it. */
void conf_file_read_text(const char *name, const char *text,
			 const struct conf_file_calls *calls);

#endif
