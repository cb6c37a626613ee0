/*
 * conf_text.h - texts for the reader of storm.conf.  They are the C library's,
 * because storm check also runs where Slurm's library does not load.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_TEXT_H
#define STORM_CONF_TEXT_H

/* Make a text, as printf() does; the caller frees it with free().  Without
 * memory the process ends. */
char *conf_text_make(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));
/* Append to *text, which may be NULL. */
void conf_text_add(char **text, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Append KEY="VALUE", with the escapes that conf_file.c takes away. */
void conf_text_add_pair(char **text, const char *key, const char *value);

#endif
