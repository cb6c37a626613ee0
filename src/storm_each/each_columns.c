/*
 * each_columns.c - see each_columns.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "each_columns.h"
#include "shell_text.h"

struct each_columns {
	regex_t regex;
};

/* What an escape means within and outside of brackets; NULL: it cannot be there. */
static const struct column_escape {
	char letter;
	const char *within, *outside;
} column_escapes[] = {
	{ 't', "\t", "\t" },
	{ 'n', "\n", "\n" },
	{ 'r', "\r", "\r" },
	{ 'f', "\f", "\f" },
	{ 'd', "0-9", "[0-9]" },
	{ 'D', NULL, "[^0-9]" },
	{ 's', "[:space:]", "[[:space:]]" },
	{ 'S', NULL, "[^[:space:]]" },
	{ 'w', "[:alnum:]_", "[[:alnum:]_]" },
	{ 'W', NULL, "[^[:alnum:]_]" },
};

static bool is_letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9');
}

/* An escape's meaning goes to out.  False: it has none here. */
static bool columns_escape(char letter, bool within, struct shell_text *out)
{
	for (size_t k = 0; k < sizeof(column_escapes) / sizeof(*column_escapes);
	     k++) {
		const char *means = within ? column_escapes[k].within :
					     column_escapes[k].outside;

		if (column_escapes[k].letter != letter)
			continue;
		if (means)
			shell_text_add(out, means, strlen(means));
		return means != NULL;
	}
	if (!letter || is_letter_or_digit(letter))
		return false;
	if (!within)
		shell_text_char(out, '\\');
	/* these have a meaning within brackets that only their place can take */
	else if (strchr("]^-[", letter))
		return false;
	shell_text_char(out, letter);
	return true;
}

/* Perl's expression as POSIX has it.  NULL: it is written, or there is no memory; else
 * where it cannot be. */
static const char *columns_translate(const char *colsep, struct shell_text *out)
{
	const char *at = colsep, *bracket = NULL;

	for (; *at; at++) {
		if (*at == '\\') {
			if (!columns_escape(at[1], bracket, out))
				return at;
			at++;
			continue;
		}
		if (!bracket && *at == '(' && at[1] == '?')
			return at;
		if (!bracket && at > colsep && (*at == '?' || *at == '+') &&
		    strchr("*+?}", at[-1]) &&
		    !(at - 1 > colsep && at[-2] == '\\'))
			return at;
		if (!bracket && *at == '[')
			bracket = at[1] == '^' ? at + 1 : at;
		else if (bracket && *at == ']' && at > bracket + 1)
			bracket = NULL;
		shell_text_char(out, *at);
	}
	return NULL;
}

struct each_columns *each_columns_create(const char *colsep, char *why,
					 size_t size)
{
	struct shell_text out = { 0 };
	const char *bad = columns_translate(colsep, &out);
	struct each_columns *c = calloc(1, sizeof(*c));
	regmatch_t match;
	size_t len;
	char *text = shell_text_take(&out, &len);
	int err = 0;

	if (bad)
		snprintf(
			why, size,
			"\"%s\" is Perl's: write it as an extended regular expression of POSIX",
			bad);
	else if (!c || !text)
		snprintf(why, size, "no memory");
	else if ((err = regcomp(&c->regex, text, REG_EXTENDED)))
		regerror(err, &c->regex, why, size);
	else if (!regexec(&c->regex, "", 1, &match, 0)) {
		snprintf(why, size, "it also matches nothing at all");
		regfree(&c->regex);
		err = -1;
	}
	free(text);
	if (!bad && c && text && !err)
		return c;
	free(c);
	return NULL;
}

size_t each_columns_next(const struct each_columns *c, const char *text,
			 const char **rest)
{
	regmatch_t match;

	/* a match of no length, such as of "$", separates nothing */
	if (regexec(&c->regex, text, 1, &match, 0) != 0 ||
	    match.rm_so == match.rm_eo) {
		*rest = NULL;
		return strlen(text);
	}
	*rest = text + match.rm_eo;
	return (size_t) match.rm_so;
}

void each_columns_destroy(struct each_columns *c)
{
	if (!c)
		return;
	regfree(&c->regex);
	free(c);
}
