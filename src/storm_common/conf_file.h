/*
 * conf_file.h - read a file in slurm.conf's syntax: one Key=Value per line,
 * comments, continued lines, and Include.
 *
 * Slurm's own reader reports errors only in its log, and waits a minute for a
 * file that does not exist.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_FILE_H
#define STORM_CONF_FILE_H

/*
 * Called with a key as it is written, and its value without quotes.  Returns
 * NULL, or an error text that the reader frees with xfree().  The reader puts
 * "path:line: " in front.
 */
typedef char *(*conf_file_fn)(void *arg, const char *path, unsigned int line,
			      const char *key, const char *value);

/*
 * Call key_found for each key, in the order of the file, until it fails.
 * Returns NULL, or the first error: one line that begins with the place.  The
 * caller frees it with xfree().
 */
char *conf_file_read(const char *path, conf_file_fn key_found, void *arg);

#endif
