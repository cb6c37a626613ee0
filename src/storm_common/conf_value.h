/*
 * conf_value.h - parses the kinds of values in storm.conf.  Each call returns
 * false if the text is no such value; *out may then have anything.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_VALUE_H
#define STORM_CONF_VALUE_H

#include <stdbool.h>
#include <stdint.h>

/* A decimal number without sign or blanks; *end is set to what follows it. */
bool conf_parse_digits(const char *s, uint64_t *out, const char **end);
/* A decimal number behind which nothing may follow. */
bool conf_parse_number(const char *s, uint64_t *out);
/* A number, perhaps with K, M or G (powers of 1024) at the end. */
bool conf_parse_bytes(const char *s, uint64_t *out);
/* Digits, perhaps with a fraction; no sign, no exponent, no hexadecimal.  *end
 * is set to what follows. */
bool conf_parse_decimal(const char *s, double *out, const char **end);
/* A time, as ns.  It is written in ms, or with the unit us, ms or s. */
bool conf_parse_time(const char *s, uint64_t *ns);
/* One of choices, which ends with NULL, in upper or lower case; *out: its
 * index. */
bool conf_parse_choice(const char *const *choices, const char *s,
		       uint64_t *out);

#endif
