/*
 * conf_file.c - read a file in slurm.conf's syntax: see conf_file.h.
 *
 * The syntax is that of Slurm's parse_config.c.  A # begins a comment.  A
 * backslash at the end of a line continues it, unless another one escapes it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "conf_file.h"
#include "conf_text.h"

#define BLANKS " \t\n\v\f\r"
#define DEPTH_MAX 8 /* a file may include itself */

struct conf_reader {
	const char *path;
	FILE *f;
	unsigned int depth;
	unsigned int read; /* lines */
	unsigned int line; /* the present line's number */
	bool nul;	   /* it has a byte of 0 */
	const struct conf_file_calls *calls;
};

static char *conf_read_path(struct conf_reader *r);

/* The error text for the present line. */
#define LINE_FAULT(r, fmt, ...) \
	conf_text_make("%s:%u: " fmt, (r)->path, (r)->line, ##__VA_ARGS__)

/* ---------------------------------------------------------------- lines --- */

static void conf_strip_comment(char *s)
{
	for (; *s && *s != '#'; s++)
		if (*s == '\\' && s[1])
			s++;
	*s = '\0';
}

/* Does the next line continue this one?  Cuts the backslash off. */
static bool conf_strip_continuation(char *s)
{
	char *end = s + strlen(s), *p;

	while (end > s && isspace((unsigned char) end[-1]))
		end--;
	for (p = end; p > s && p[-1] == '\\';)
		p--;
	if ((end - p) % 2 == 0)
		return false;
	end[-1] = '\0';
	return true;
}

static void conf_strip_escapes(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s == '\\' && s[1])
			s++;
		*to++ = *s;
	}
	*to = '\0';
}

/* The next line with its continuations; free it with free().  NULL: end of
 * file. */
static char *conf_next_line(struct conf_reader *r)
{
	char *whole = NULL, *part = NULL;
	size_t size = 0;
	ssize_t len;
	bool more = true;

	r->line = r->read + 1;
	r->nul = false;
	while (more && (len = getline(&part, &size, r->f)) >= 0) {
		r->read++;
		r->nul |= strlen(part) != (size_t) len;
		conf_strip_comment(part);
		more = conf_strip_continuation(part);
		conf_text_add(&whole, "%s", part);
	}
	free(part);
	if (whole)
		conf_strip_escapes(whole);
	return whole;
}

/* ------------------------------------------------------ keys and values --- */

static char *conf_skip_blanks(char *s)
{
	return s + strspn(s, BLANKS);
}

/* Shorten the text for a message, and cut blanks at its end off. */
static const char *conf_excerpt(char *s)
{
	size_t len = strnlen(s, 60);

	while (len && isspace((unsigned char) s[len - 1]))
		len--;
	s[len] = '\0';
	return s;
}

static char *conf_include_file(const struct conf_reader *r, char *name)
{
	struct conf_reader inner = { .depth = r->depth + 1, .calls = r->calls };
	const char *slash = strrchr(r->path, '/');
	char *end = name + strcspn(name, BLANKS), *path, *why;

	if (*end)
		*end++ = '\0';
	end = conf_skip_blanks(end);
	if (!*name)
		return LINE_FAULT(
			r,
			"Include names no file: write Include FILE, or remove the line");
	if (*end)
		return LINE_FAULT(
			r, "'%s' follows Include %s: write one file per line",
			conf_excerpt(end), name);
	if (inner.depth == DEPTH_MAX)
		return LINE_FAULT(
			r,
			"Include %s: files are nested more than %d deep: does one include itself?",
			name, DEPTH_MAX);
	if (*name == '/' || !slash)
		path = conf_text_make("%s", name);
	else
		path = conf_text_make("%.*s/%s", (int) (slash - r->path),
				      r->path, name);
	inner.path = path;
	why = conf_read_path(&inner);
	free(path);
	if (why) {
		char *text = LINE_FAULT(r, "Include: %s", why);

		free(why);
		why = text;
	}
	return why;
}

/* Cut a value off, with its quotes: *rest is what follows it, "" after a fault. */
static char *conf_cut_value(const struct conf_reader *r, const char *key,
			    char **value, char **rest)
{
	char *end;

	*rest = *value + strlen(*value);
	if (!**value)
		return LINE_FAULT(
			r,
			"%s has no value: write %s=VALUE, or remove the line",
			key, key);
	if (**value == '"') {
		end = strchr(++*value, '"');
		if (!end)
			return LINE_FAULT(
				r,
				"the value of %s has no closing quote: add one",
				key);
		if (end[1] && !isspace((unsigned char) end[1]))
			return LINE_FAULT(
				r,
				"'%s' follows the closing quote of %s: quote the whole value, or none of it",
				conf_excerpt(end + 1), key);
	} else {
		end = *value + strcspn(*value, BLANKS);
	}
	if (*end)
		*end++ = '\0';
	*rest = conf_skip_blanks(end);
	return NULL;
}

static char *conf_key_end(char *key)
{
	while (isalnum((unsigned char) *key) || (*key && strchr("_.", *key)))
		key++;
	return key;
}

/* The pairs that follow FIRST=VALUE on its line. */
static char *conf_read_more(const struct conf_reader *r, const char *place,
			    const char *first, const char *its, char *key)
{
	char *end, *value, *rest, *why;

	for (; *key; key = rest) {
		end = conf_key_end(key);
		value = conf_skip_blanks(end);
		if (end == key || *value != '=')
			return LINE_FAULT(
				r, "expected Key=Value after %s=%s, found '%s'",
				first, its, conf_excerpt(key));
		*end = '\0';
		value = conf_skip_blanks(value + 1);
		why = conf_cut_value(r, key, &value, &rest);
		if (why)
			return why;
		r->calls->more_found(r->calls->arg, place, key, value);
	}
	return NULL;
}

/* On a line that takes one pair alone. */
static char *conf_more_refused(const struct conf_reader *r, const char *key,
			       const char *value, char *rest)
{
	const struct conf_file_calls *calls = r->calls;
	char *end = conf_key_end(rest), was = *end;
	bool leads;

	*end = '\0';
	leads = calls->takes_more && calls->takes_more(calls->arg, rest);
	*end = was;
	if (leads)
		return LINE_FAULT(
			r,
			"'%s' follows %s=%.60s: it is the first on its line, and what is for it follows",
			conf_excerpt(rest), key, value);
	return LINE_FAULT(
		r,
		"'%s' follows %s=%.60s: write one key per line, and quote a value that has blanks",
		conf_excerpt(rest), key, value);
}

static char *conf_read_pair(const struct conf_reader *r, char *key, char *value)
{
	const struct conf_file_calls *calls = r->calls;
	char *rest, *place, *why = conf_cut_value(r, key, &value, &rest);

	if (why)
		return why;
	if (*rest && !(calls->takes_more && calls->takes_more(calls->arg, key)))
		return conf_more_refused(r, key, value, rest);
	place = conf_text_make("%s:%u", r->path, r->line);
	calls->key_found(calls->arg, place, key, value);
	why = conf_read_more(r, place, key, value, rest);
	free(place);
	return why;
}

static char *conf_read_line(const struct conf_reader *r, char *s)
{
	char *key = conf_skip_blanks(s), *end = conf_key_end(key), *value;

	if (!*key)
		return NULL;
	value = conf_skip_blanks(end);
	if (end - key == 7 && !strncasecmp(key, "include", 7) &&
	    *value != '=' && (value > end || !*value))
		return conf_include_file(r, value);
	if (end == key || *value != '=')
		return LINE_FAULT(r, "expected Key=Value, found '%s'",
				  conf_excerpt(key));
	*end = '\0';
	return conf_read_pair(r, key, conf_skip_blanks(value + 1));
}

static void conf_read_lines(struct conf_reader *r)
{
	char *s, *why;

	while ((s = conf_next_line(r))) {
		/* what a host that lost its power can leave of a file */
		why = r->nul ?
			      LINE_FAULT(
				      r,
				      "a byte of the line is 0: the file is damaged; write it anew") :
			      conf_read_line(r, s);
		if (why)
			r->calls->wrong(r->calls->arg, why);
		free(why);
		free(s);
	}
}

/* NULL, or why the file cannot be read. */
static char *conf_read_path(struct conf_reader *r)
{
	struct stat st;
	char *why = NULL;

	r->f = fopen(r->path, "re");
	if (!r->f)
		return conf_text_make("%s: %m", r->path);
	/* a pipe or a terminal might never end */
	if (fstat(fileno(r->f), &st) || !S_ISREG(st.st_mode)) {
		fclose(r->f);
		return conf_text_make("%s is not a regular file", r->path);
	}
	conf_read_lines(r);
	if (ferror(r->f))
		why = conf_text_make("%s: %m", r->path);
	fclose(r->f);
	return why;
}

void conf_file_read(const char *path, const struct conf_file_calls *calls)
{
	struct conf_reader r = { .path = path, .calls = calls };
	char *why = conf_read_path(&r);

	if (why)
		calls->wrong(calls->arg, why);
	free(why);
}

void conf_file_read_text(const char *name, const char *text,
			 const struct conf_file_calls *calls)
{
	struct conf_reader r = { .path = name, .calls = calls };

	if (!*text)
		return;
	r.f = fmemopen((char *) text, strlen(text), "r");
	if (!r.f)
		abort(); /* no memory */
	conf_read_lines(&r);
	fclose(r.f);
}
