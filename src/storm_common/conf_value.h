/*
 * conf_value.h - the kinds of values in storm.conf.  False: the text is no such
 * value, and *out may have anything.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_VALUE_H
#define STORM_CONF_VALUE_H

#include <stdbool.h>
#include <stdint.h>

/* A decimal number without sign or blanks; *end is set to what follows it. */
bool conf_parse_digits(const char *s, uint64_t *out, const char **end);
/* The same, and nothing follows. */
bool conf_parse_number(const char *s, uint64_t *out);
/* A number, perhaps with K, M or G (powers of 1024) at the end. */
bool conf_parse_bytes(const char *s, uint64_t *out);
/* Digits, perhaps with a fraction; no sign, no exponent, no hexadecimal.  *end
 * is set to what follows. */
bool conf_parse_decimal(const char *s, double *out, const char **end);
/* ns; written in ms, or with us, ms or s. */
bool conf_parse_time(const char *s, uint64_t *ns);
/* The index into choices, which ends with NULL; in upper or lower case. */
bool conf_parse_choice(const char *const *choices, const char *s,
		       uint64_t *out);

#endif
