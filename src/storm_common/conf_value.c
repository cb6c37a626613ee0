/*
 * conf_value.c - the kinds of values in storm.conf: see conf_value.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf_value.h"
#include "src/libstorm/base/clock.h"

bool conf_parse_digits(const char *s, uint64_t *out, const char **end)
{
	char *e;

	if (!isdigit((unsigned char) *s))
		return false;
	errno = 0;
	*out = strtoull(s, &e, 10);
	*end = e;
	return !errno;
}

bool conf_parse_number(const char *s, uint64_t *out)
{
	const char *end;

	return conf_parse_digits(s, out, &end) && !*end;
}

bool conf_parse_bytes(const char *s, uint64_t *out)
{
	const char *end;
	int shift = 0;

	if (!conf_parse_digits(s, out, &end))
		return false;
	switch (toupper((unsigned char) *end)) {
	case 'G':
		shift += 10;
		/* fall through */
	case 'M':
		shift += 10;
		/* fall through */
	case 'K':
		shift += 10;
		end++;
	}
	if (*end || *out > UINT64_MAX >> shift)
		return false;
	*out <<= shift;
	return true;
}

bool conf_parse_decimal(const char *s, double *out, const char **end)
{
	char *e;

	*out = strtod(s, &e);
	*end = e;
	return isdigit((unsigned char) *s) && e == s + strspn(s, "0123456789.");
}

bool conf_parse_time(const char *s, uint64_t *ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "", STORM_MS },
		      { "ms", STORM_MS },
		      { "us", STORM_US },
		      { "s", STORM_SEC } };
	const char *end;
	double n;

	if (!conf_parse_decimal(s, &n, &end))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcasecmp(end, units[i].unit))
			continue;
		n *= units[i].ns;
		if (!(n < 1e18)) /* 30 years */
			return false;
		*ns = n + 0.5;
		return true;
	}
	return false;
}

bool conf_parse_choice(const char *const *choices, const char *s, uint64_t *out)
{
	for (*out = 0; choices[*out]; ++*out)
		if (!strcasecmp(s, choices[*out]))
			return true;
	return false;
}
