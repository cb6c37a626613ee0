/*
 * each_value.h - the values of storm each's options.  False: it was said why.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_VALUE_H
#define STORM_EACH_VALUE_H

#include "each_options.h"

/* Digits, and not less than that. */
bool each_value_number(const char *text, const char *what, uint32_t least,
		       uint32_t *out);

/* --max-args: 0 means that arguments are not in the command. */
bool each_value_max_args(const char *text, struct each_options *o);

/* --retries, --crash-limit: 0 is without end. */
bool each_value_retries(const char *text, struct each_options *o);
bool each_value_crashes(const char *text, struct each_options *o);

/* -j: N, N% or -N; 0 is all CPUs. */
bool each_value_jobs(const char *text, struct each_jobs *out);

/* Seconds with a fraction, or numbers with s, m, h or d behind each, as 1h30m. */
bool each_value_time(const char *text, const char *option, uint64_t *out_us);

/* A text with C's escapes.  It stays until the process ends. */
bool each_value_delimiter(const char *text, struct each_options *o);

/* n, l, r, lr or rl. */
bool each_value_trim(const char *text, struct each_options *o);

#endif
