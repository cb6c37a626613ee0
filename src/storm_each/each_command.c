/*
 * each_command.c - see each_command.h.
 *
 * A template is read once for each command, from left to right.  What a replacement
 * string stands for goes into the text, in quotes of the shell.  With -X the word around
 * a replacement string is there once for each argument.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "each_command.h"
#include "each_name.h"
#include "each_options.h"
#include "each_source.h"
#include "shell_text.h"

/* What a command is made for. */
struct each_making {
	const struct each_options *o;
	const struct each_row *row;
	uint64_t seq;
	bool quoted;	  /* values get quotes */
	bool whole_words; /* -q: a word of the template gets them as a whole */
	size_t word;	  /* where that one begins */
	struct shell_text out;
};

/* Another argument of the same replacement string is another word. */
static void making_next(struct each_making *m)
{
	if (m->whole_words)
		shell_text_requote(&m->out, m->word);
	shell_text_char(&m->out, ' ');
	m->word = m->out.len;
}

static void making_value(struct each_making *m, const struct each_found *found,
			 const char *arg)
{
	struct each_part part = each_name_part(found->name, arg);

	if (m->quoted)
		shell_text_quote(&m->out, part.from, part.len);
	else
		shell_text_add(&m->out, part.from, part.len);
}

/* These arguments of the row. */
static void making_values(struct each_making *m, const struct each_found *found,
			  uint32_t first, uint32_t count)
{
	for (uint32_t k = 0; k < count; k++) {
		if (k)
			making_next(m);
		making_value(m, found, m->row->arg[first + k]);
	}
}

/* What a replacement string stands for; `first` and `count` are the arguments of those
 * without a position. */
static void making_replace(struct each_making *m,
			   const struct each_found *found, uint32_t first,
			   uint32_t count)
{
	char number[24];
	int64_t at;

	if (found->name == EACH_SLOT) {
		shell_text_char(&m->out, '\0');
	} else if (found->name == EACH_SEQ) {
		snprintf(number, sizeof(number), "%" PRIu64, m->seq);
		shell_text_add(&m->out, number, strlen(number));
	} else if (!found->position) {
		making_values(m, found, first, count);
	} else {
		at = found->position > 0 ?
			     (int64_t) found->position - 1 :
			     (int64_t) m->row->count + found->position;
		if (at >= 0 && at < m->row->count)
			making_value(m, found, m->row->arg[at]);
	}
}

/* A piece of a template. */
static void making_piece(struct each_making *m, const char *text, size_t len,
			 uint32_t first, uint32_t count)
{
	struct each_found found;

	while (len) {
		size_t plain = each_name_find(m->o, text, len, &found);

		shell_text_add(&m->out, text, plain);
		text += plain;
		len -= plain;
		if (!len)
			break;
		making_replace(m, &found, first, count);
		text += found.len;
		len -= found.len;
	}
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Is there one that stands for all arguments? */
static bool has_all(const struct each_making *m, const char *text, size_t len)
{
	struct each_found found;

	while (len) {
		size_t plain = each_name_find(m->o, text, len, &found);

		text += plain;
		len -= plain;
		if (!len)
			break;
		if (!found.position && found.name != EACH_SEQ &&
		    found.name != EACH_SLOT)
			return true;
		text += found.len;
		len -= found.len;
	}
	return false;
}

/* -X: words between blanks that have all arguments are there once for each of them. */
static void making_context(struct each_making *m, const char *text)
{
	while (*text) {
		size_t len = 0;
		uint32_t count = m->row->count;

		while (text[len] && is_blank(text[len]))
			len++;
		shell_text_add(&m->out, text, len);
		text += len;
		len = 0;
		while (text[len] && !is_blank(text[len]))
			len++;
		if (!count || !has_all(m, text, len))
			making_piece(m, text, len, 0, count);
		else
			for (uint32_t k = 0; k < count; k++) {
				if (k)
					making_next(m);
				making_piece(m, text, len, k, 1);
			}
		text += len;
	}
}

static void making_template(struct each_making *m, const char *text)
{
	if (m->o->many == EACH_CONTEXT)
		making_context(m, text);
	else
		making_piece(m, text, strlen(text), 0, m->row->count);
}

/* -q: the words are the shell's words. */
static void making_quoted_word(struct each_making *m, const char *word)
{
	m->whole_words = true;
	m->word = m->out.len;
	making_template(m, word);
	shell_text_requote(&m->out, m->word);
	m->whole_words = false;
}

/* ------------------------------------------------------------------- commands --- */

bool each_has_names(const struct each_options *o, const char *text)
{
	struct each_found found;

	return each_name_find(o, text, strlen(text), &found) < strlen(text);
}

/* Is the program itself, or a part of its name, an argument?  Then the row is a piece of
 * a script, and has no quotes.  VARIABLE={} is none. */
static bool names_the_program(const struct each_options *o)
{
	struct each_found found;
	const char *first = o->command_words ? o->command[0] : "";
	size_t before = each_name_find(o, first, strlen(first), &found);

	if (!o->command_words)
		return true;
	return first[before] && strcspn(first, " \t\n=") >= before;
}

static bool command_has_names(const struct each_options *o)
{
	for (size_t k = 0; k < o->command_words; k++)
		if (each_has_names(o, o->command[k]))
			return true;
	return false;
}

/* Without a replacement string the arguments are at the end. */
static void making_appended(struct each_making *m)
{
	if (m->o->command_words)
		shell_text_char(&m->out, ' ');
	m->quoted = m->o->command_words > 0;
	making_values(m, &(struct each_found) { .name = EACH_ARG }, 0,
		      m->row->count);
}

char *each_command(const struct each_options *o, const struct each_row *row,
		   uint64_t seq, size_t *len)
{
	struct each_making m = { .o = o, .row = row, .seq = seq };

	m.quoted = !o->quote && !names_the_program(o);
	for (size_t k = 0; k < o->command_words; k++) {
		if (k)
			shell_text_char(&m.out, ' ');
		if (o->quote)
			making_quoted_word(&m, o->command[k]);
		else
			making_template(&m, o->command[k]);
	}
	if (!command_has_names(o))
		making_appended(&m);
	return shell_text_take(&m.out, len);
}

size_t each_command_share(const struct each_options *o,
			  const struct each_row *row)
{
	struct each_row twice = { 2 * row->count, NULL };
	size_t with = 0, without = 0;
	char *a, *b = NULL;

	twice.arg = calloc(twice.count + 1, sizeof(*twice.arg));
	for (uint32_t k = 0; twice.arg && k < twice.count; k++)
		twice.arg[k] = row->arg[k % row->count];
	a = each_command(o, row, 0, &without);
	if (twice.arg)
		b = each_command(o, &twice, 0, &with);
	free(twice.arg);
	free(a);
	free(b);
	return a && b ? with - without : SIZE_MAX;
}

char *each_text(const struct each_options *o, const char *text,
		const struct each_row *row, uint64_t seq, size_t *len)
{
	struct each_making m = { .o = o, .row = row, .seq = seq };

	making_piece(&m, text, strlen(text), 0, row->count);
	return shell_text_take(&m.out, len);
}

char *each_with_slot(const char *text, size_t len, uint32_t slot)
{
	struct shell_text out = { 0 };
	char number[16];

	snprintf(number, sizeof(number), "%u", slot);
	for (const char *end = text + len; text < end;) {
		size_t run = strnlen(text, (size_t) (end - text));

		shell_text_add(&out, text, run);
		text += run;
		if (text == end)
			break;
		shell_text_add(&out, number, strlen(number));
		text++;
	}
	return shell_text_take(&out, &len);
}

/* A name within a directory.  Bytes that cannot be in it, or would lead elsewhere, have
 * a backslash before a sign of their own. */
static void results_name(struct shell_text *out, const char *arg)
{
	static const char *const other[][2] = { { "/", "\\_" },
						{ "\t", "\\t" },
						{ "\\", "\\\\" } };

	if (!*arg || !strcmp(arg, ".") || !strcmp(arg, ".."))
		shell_text_add(out, *arg ? "\\" : "\\0", *arg ? 1 : 2);
	for (; *arg; arg++) {
		size_t k = 0;

		while (k < 3 && *arg != *other[k][0])
			k++;
		if (k < 3)
			shell_text_add(out, other[k][1], 2);
		else
			shell_text_char(out, *arg);
	}
}

char *each_results_dir(const char *dir, const struct each_row *row)
{
	struct shell_text out = { 0 };
	char number[16];
	size_t len = strlen(dir);

	while (len > 1 && dir[len - 1] == '/')
		len--;
	shell_text_add(&out, dir, len);
	for (uint32_t k = 0; k < row->count; k++) {
		snprintf(number, sizeof(number), "/%u/", k + 1);
		shell_text_add(&out, number, strlen(number));
		results_name(&out, row->arg[k]);
	}
	return shell_text_take(&out, &len);
}
