/*
 * conf_file.h - read a file that is written as slurm.conf is: Key=Value, one
 * in a line, comments, lines that go on in the next one, and Include.
 *
 * Slurm's own reader puts what is wrong, and where, into its log alone; it
 * waits a minute for a file that is not there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_FILE_H
#define STORM_CONF_FILE_H

/*
 * A key as it is written, and its value without quotes.  Gives NULL, or what is
 * wrong with it, to be freed with xfree(); "path:line: " is put in front.
 */
typedef char *(*conf_file_fn)(void *arg, const char *path, unsigned int line,
			      const char *key, const char *value);

/*
 * Call key_found for each key, in the order of the file.  NULL, or the first
 * thing that is wrong: one line that begins with the place, to be freed with
 * xfree().
 */
char *conf_file_read(const char *path, conf_file_fn key_found, void *arg);

#endif
