/*
 * run_multi.c - see run_multi.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_multi.h"

#define BLANKS " \t\r\v\f"
#define SHOWN 40 /* bytes of a word, in messages */
/* More tasks no run has. */
#define RANK_MAX (UINT32_MAX / 2 - 1)

/* A text that is being read. */
struct multi {
	const char *at, *end;
	uint32_t line;	/* of at, from 1 */
	uint32_t tasks; /* or 0 */
	struct run_programs *out;
	struct storm_idset named; /* ranks */
	char *to; /* where the next argument belongs, in out->text */
	char (*why)[RUN_MULTI_WHY];
};

__attribute__((format(printf, 3, 4))) static bool
multi_fail(const struct multi *m, uint32_t line, const char *fmt, ...)
{
	size_t n = 0;
	va_list ap;

	if (line)
		n = (size_t) snprintf(*m->why, sizeof(*m->why),
				      "line %u: ", line);
	va_start(ap, fmt);
	vsnprintf(*m->why + n, sizeof(*m->why) - n, fmt, ap);
	va_end(ap);
	return false;
}

static bool multi_no_memory(const struct multi *m)
{
	return multi_fail(m, 0, "no memory");
}

/* ---------------------------------------------------------------------- lines --- */

static bool multi_is_blank(char c)
{
	return c && strchr(BLANKS, c);
}

/* A line goes on in the next one. */
static bool multi_is_joined(const struct multi *m)
{
	return m->end - m->at >= 2 && m->at[0] == '\\' && m->at[1] == '\n';
}

static void multi_join(struct multi *m)
{
	m->at += 2;
	m->line++;
}

static bool multi_is_over(const struct multi *m)
{
	return m->at == m->end || *m->at == '\n';
}

/* To the next word of the line, or to its end. */
static void multi_skip_blanks(struct multi *m)
{
	while (m->at < m->end)
		if (multi_is_joined(m))
			multi_join(m);
		else if (multi_is_blank(*m->at))
			m->at++;
		else
			return;
}

static void multi_skip_line(struct multi *m)
{
	while (!multi_is_over(m))
		if (multi_is_joined(m))
			multi_join(m);
		else
			m->at++;
}

/* ---------------------------------------------------------------------- ranks --- */

/* False: there is none, or it is too large. */
static bool multi_number(const char **at, const char *end, uint32_t *out)
{
	uint64_t n = 0;
	const char *p = *at;

	for (; p < end && *p >= '0' && *p <= '9' && n <= RANK_MAX; p++)
		n = 10 * n + (uint64_t) (*p - '0');
	if (p == *at || n > RANK_MAX)
		return false;
	*out = (uint32_t) n;
	*at = p;
	return true;
}

/* "2" or "4-6", and the comma behind it. */
static bool multi_range(const char **at, const char *end,
			struct storm_range *out)
{
	if (!multi_number(at, end, &out->first))
		return false;
	out->last = out->first;
	if (*at < end && **at == '-') {
		++*at;
		if (!multi_number(at, end, &out->last) ||
		    out->last < out->first)
			return false;
	}
	if (*at == end)
		return true;
	return *(*at)++ == ',' && *at < end;
}

/* The line that has a rank already. */
static uint32_t multi_line_of(const struct multi *m, uint32_t rank)
{
	uint32_t place;
	const struct run_program *p = run_programs_find(m->out, rank, &place);

	return p ? p->line : 0;
}

static bool multi_add_range(struct multi *m, struct run_program *p,
			    struct storm_range range)
{
	struct storm_range *more =
		realloc(p->ranks, (p->count + (size_t) 1) * sizeof(*more));

	if (!more)
		return multi_no_memory(m);
	p->ranks = more;
	if (m->tasks && range.last >= m->tasks)
		return multi_fail(m, p->line,
				  "task %u is named, the run has %u tasks",
				  range.last, m->tasks);
	for (uint32_t k = 0; k < m->named.count; k++) {
		const struct storm_range *r = &m->named.r[k];
		uint32_t rank = range.first > r->first ? range.first : r->first;

		if (rank <= range.last && rank <= r->last)
			return multi_fail(
				m, p->line,
				"task %u has a program already, by line %u",
				rank, multi_line_of(m, rank));
	}
	p->ranks[p->count++] = range;
	if (storm_idset_add(&m->named, range.first, range.last))
		return multi_no_memory(m);
	return true;
}

/* The first word of a line. */
static bool multi_ranks(struct multi *m, struct run_program *p)
{
	const char *word = m->at, *end;
	int shown;

	while (!multi_is_over(m) && !multi_is_blank(*m->at) &&
	       !multi_is_joined(m))
		m->at++;
	end = m->at;
	shown = (int) (end - word < SHOWN ? end - word : SHOWN);
	multi_skip_blanks(m);
	if (m->out->count > 1 && !p[-1].count)
		return multi_fail(m, p->line,
				  "* of line %u is to be the last one",
				  p[-1].line);
	if (end - word != 1 || *word != '*')
		for (const char *at = word; at < end || at == word;) {
			struct storm_range range;

			if (!multi_range(&at, end, &range))
				return multi_fail(
					m, p->line,
					"\"%.*s\" is no list of tasks, such as 0,2-4 or *",
					shown, word);
			if (!multi_add_range(m, p, range))
				return false;
		}
	if (multi_is_over(m))
		return multi_fail(m, p->line, "task %.*s has no program", shown,
				  word);
	return true;
}

/* ------------------------------------------------------------------ arguments --- */

static void multi_put(struct multi *m, char c)
{
	*m->to++ = c;
	if (c == '%')
		*m->to++ = c;
}

static bool multi_quoted(struct multi *m)
{
	uint32_t line = m->line;

	for (m->at++; m->at < m->end && *m->at != '\'';)
		if (multi_is_joined(m))
			multi_join(m);
		else if (*m->at == '\n')
			break;
		else
			multi_put(m, *m->at++);
	if (multi_is_over(m))
		return multi_fail(m, line, "a quote has no end");
	m->at++;
	return true;
}

static bool multi_placeholder(struct multi *m)
{
	char c = m->end - m->at > 1 ? m->at[1] : '\0';

	if (c != 't' && c != 'o')
		return multi_fail(
			m, m->line,
			"a %% is neither %%t nor %%o; \\%% is a percent sign");
	*m->to++ = '%';
	*m->to++ = c;
	m->at += 2;
	return true;
}

/* From here to the next blank; out->text has it then. */
static bool multi_word(struct multi *m)
{
	while (!multi_is_over(m) && !multi_is_blank(*m->at)) {
		bool good = true;

		if (*m->at == '\'') {
			good = multi_quoted(m);
		} else if (*m->at == '%') {
			good = multi_placeholder(m);
		} else if (multi_is_joined(m)) {
			multi_join(m);
		} else if (*m->at == '\\' && m->end - m->at > 1) {
			multi_put(m, m->at[1]);
			m->at += 2;
		} else if (*m->at == '\\') {
			m->at++; /* the end of the file is that of the line */
		} else {
			multi_put(m, *m->at++);
		}
		if (!good)
			return false;
	}
	*m->to++ = '\0';
	return true;
}

static bool multi_add_argument(const struct multi *m, struct run_program *p,
			       uint32_t *words, char *word)
{
	/* one for NULL */
	char **more = realloc(p->argv, (*words + (size_t) 2) * sizeof(*more));

	if (!more)
		return multi_no_memory(m);
	p->argv = more;
	p->argv[(*words)++] = word;
	p->argv[*words] = NULL;
	return true;
}

static bool multi_program(struct multi *m, char *const *more)
{
	struct run_program *p = &m->out->list[m->out->count++];
	uint32_t words = 0;

	*p = (struct run_program) { .line = m->line };
	if (!multi_ranks(m, p))
		return false;
	while (!multi_is_over(m)) {
		char *word = m->to;

		if (!multi_word(m) || !multi_add_argument(m, p, &words, word))
			return false;
		multi_skip_blanks(m);
	}
	if (!p->argv || !*p->argv[0])
		return multi_fail(m, p->line, "the program has no name");
	for (; *more; more++)
		if (!multi_add_argument(m, p, &words, *more))
			return false;
	return true;
}

/* ----------------------------------------------------------------------- all --- */

static bool multi_lines(struct multi *m, char *const *more)
{
	while (m->at < m->end) {
		multi_skip_blanks(m);
		if (!multi_is_over(m) && *m->at == '#')
			multi_skip_line(m);
		else if (!multi_is_over(m) && !multi_program(m, more))
			return false;
		if (m->at < m->end)
			m->at++;
		m->line++;
	}
	return true;
}

/* Room for a program on each line, and twice all text: each byte may become two. */
static bool multi_room(struct multi *m, size_t len, char *const *more,
		       char ***escaped)
{
	size_t lines = 1, text = 2 * len + 2, words = 0;

	for (const char *p = m->at;
	     (p = memchr(p, '\n', (size_t) (m->end - p))); p++)
		lines++;
	for (; more[words]; words++)
		text += 2 * strlen(more[words]) + 1;
	m->out->list = calloc(lines, sizeof(*m->out->list));
	m->out->text = malloc(text);
	*escaped = calloc(words + 1, sizeof(**escaped));
	m->to = m->out->text;
	for (size_t k = 0; *escaped && m->to && k < words; k++) {
		(*escaped)[k] = m->to;
		for (const char *p = more[k]; *p; p++)
			multi_put(m, *p);
		*m->to++ = '\0';
	}
	return (m->out->list && m->to && *escaped) || multi_no_memory(m);
}

static bool multi_is_whole(const struct multi *m)
{
	uint32_t missing;

	if (!m->out->count)
		return multi_fail(m, 0, "it names no program");
	if (m->tasks && !run_programs_cover(m->out, m->tasks, &missing))
		return multi_fail(m, 0, "task %u has no program", missing);
	return true;
}

bool run_multi_read(const char *text, size_t len, char *const *more,
		    uint32_t tasks, struct run_programs *out,
		    char (*why)[RUN_MULTI_WHY])
{
	struct multi m = { .at = text,
			   .end = text + len,
			   .line = 1,
			   .tasks = tasks,
			   .out = out,
			   .why = why };
	char **escaped = NULL;
	bool good;

	*out = (struct run_programs) { 0 };
	good = memchr(text, 0, len) ?
		       multi_fail(&m, 0, "it is no text") :
		       multi_room(&m, len, more, &escaped) &&
			       multi_lines(&m, escaped) && multi_is_whole(&m);
	free(escaped);
	storm_idset_clear(&m.named);
	if (!good)
		run_programs_free(out);
	return good;
}
