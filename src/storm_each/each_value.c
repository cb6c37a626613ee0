/*
 * each_value.c - see each_value.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "each_value.h"

bool each_value_number(const char *text, const char *what, uint32_t least,
		       uint32_t *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text >= '0' && *text <= '9' && !*end && n >= least &&
	    n < UINT32_MAX / 2) {
		*out = (uint32_t) n;
		return true;
	}
	run_say("\"%s\" is no number of %s", text, what);
	return false;
}

bool each_value_max_args(const char *text, struct each_options *o)
{
	if (!each_value_number(text, "arguments", 0, &o->max_args))
		return false;
	o->no_args = !o->max_args;
	return true;
}

bool each_value_retries(const char *text, struct each_options *o)
{
	if (!each_value_number(text, "retries", 0, &o->retries))
		return false;
	if (!o->retries)
		o->retries = UINT32_MAX;
	return true;
}

bool each_value_crashes(const char *text, struct each_options *o)
{
	if (!each_value_number(text, "crashes", 0, &o->crash_limit))
		return false;
	if (!o->crash_limit)
		o->crash_limit = UINT32_MAX;
	return true;
}

bool each_value_jobs(const char *text, struct each_jobs *out)
{
	size_t len = strlen(text),
	       digits = strspn(text + (*text == '-'), "0123456789");
	bool less = *text == '-', percent = len && text[len - 1] == '%';

	out->number = (uint32_t) strtoul(text + less, NULL, 10);
	out->kind = less	 ? EACH_LESS :
		    percent	 ? EACH_PERCENT :
		    !out->number ? EACH_ALL_CPUS :
				   EACH_COUNT;
	if (digits && digits < 9 && less + digits + percent == len &&
	    !(less && percent))
		return true;
	if (*text == '+')
		run_say("-j %s: no task runs without a CPU of the job: take -j N, or leave it out",
			text);
	else
		run_say("-j %s: it is a number, a percentage of the CPUs such as 50%%, or -N for N less than the CPUs",
			text);
	return false;
}

/* ------------------------------------------------------------------------ time --- */

/* One number with its unit; what is behind it.  NULL: it is none. */
static const char *value_time_part(const char *text, double *sum)
{
	static const struct {
		char letter;
		double seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	size_t digits = strspn(text, "0123456789.");
	char *end;
	double n;

	if (!digits || (*text == '.' && digits == 1))
		return NULL;
	n = strtod(text, &end);
	if (end != text + digits)
		return NULL;
	for (size_t k = 0; k < sizeof(units) / sizeof(*units); k++)
		if ((*end | ' ') == units[k].letter) {
			*sum += n * units[k].seconds;
			return end + 1;
		}
	*sum += n;
	return *end ? NULL : end;
}

bool each_value_time(const char *text, const char *option, uint64_t *out_us)
{
	double seconds = 0;
	const char *at = value_time_part(text, &seconds);

	while (at && *at)
		at = value_time_part(at, &seconds);
	if (at && seconds < 1e9) {
		*out_us = (uint64_t) (seconds * 1e6 + 0.5);
		return true;
	}
	if (strchr(text, '%'))
		run_say("%s %s: a share of what others take is not known here: give seconds",
			option, text);
	else
		run_say("%s %s: it is a number of seconds, or one with s, m, h or d",
			option, text);
	return false;
}

/* ------------------------------------------------------------------------ texts --- */

/* What the escape behind a backslash means, and how many bytes it has; 0: it is none. */
static size_t value_escape(const char *text, char *out)
{
	static const char letters[] = "abfnrtv\\'\"",
			  means[] = "\a\b\f\n\r\t\v\\'\"";
	const char *letter = *text ? strchr(letters, *text) : NULL;
	size_t digits = strspn(text, "01234567");
	char number[4] = "";
	bool hex = *text == 'x';

	if (letter) {
		*out = means[letter - letters];
		return 1;
	}
	if (hex)
		digits = strspn(text + 1, "0123456789abcdefABCDEF");
	if (!digits)
		return 0;
	digits = digits > (hex ? 2u : 3u) ? (hex ? 2 : 3) : digits;
	memcpy(number, text + hex, digits);
	*out = (char) strtoul(number, NULL, hex ? 16 : 8);
	return digits + hex;
}

bool each_value_delimiter(const char *text, struct each_options *o)
{
	char *out = calloc(1, strlen(text) + 1), *to = out;

	if (!out) {
		run_say("no memory");
		return false;
	}
	o->delimiter = out;
	for (const char *at = text; *at;) {
		size_t len = *at == '\\' ? value_escape(at + 1, to) : 0;

		if (!len)
			*to = *at;
		to++;
		at += len + 1;
	}
	o->delimiter_len = (size_t) (to - out);
	/* a NUL byte is one alone: words of the command line have none */
	if (o->delimiter_len == 1 ||
	    (o->delimiter_len && !memchr(out, '\0', o->delimiter_len)))
		return true;
	run_say("-d \"%s\": it is a text of a byte or more; for a NUL byte take -0",
		text);
	return false;
}

bool each_value_trim(const char *text, struct each_options *o)
{
	o->trim_left = strchr(text, 'l') != NULL;
	o->trim_right = strchr(text, 'r') != NULL;
	if (!strcmp(text, "n") || !strcmp(text, "l") || !strcmp(text, "r") ||
	    !strcmp(text, "lr") || !strcmp(text, "rl"))
		return true;
	run_say("--trim %s: it is n, l, r or lr", text);
	return false;
}
