/*
 * conf_file.h - read a file in slurm.conf's syntax: one Key=Value per line, or
 * several where the first one allows that, comments, continued lines, and Include.
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
	/* A key as it is written, its place (file:line), and its value without
	 * quotes. */
	void (*key_found)(void *arg, const char *place, const char *key,
			  const char *value);
	/* May others follow this key on its line?  NULL: never. */
	bool (*takes_more)(void *arg, const char *key);
	/* One of those that follow the last key_found(). */
	void (*more_found)(void *arg, const char *place, const char *key,
			   const char *value);
	/* A line that cannot be read, or a file: one line of text that begins
	 * with the place. */
	void (*wrong)(void *arg, const char *text);
	void *arg;
};

/* Read all lines, also those that follow a wrong one. */
void conf_file_read(const char *path, const struct conf_file_calls *calls);
/* The same for a text that has this name. */
void conf_file_read_text(const char *name, const char *text,
			 const struct conf_file_calls *calls);

#endif
