/*
 * check_tell.c - see check_tell.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check_tell.h"

#define TEXT_MAX 700
#define NODE_NAME_MAX 256

struct told_line {
	struct told_line *next;
	enum check_word word;
	char text[TEXT_MAX];
	char **node; /* "": this host */
	size_t nodes;
};

static struct told_line *told, **told_end = &told;

static const char *const words[CHECK_WORDS] = { "missing", "note", "ok" };

const char *check_word_name(enum check_word w)
{
	return words[w];
}

enum check_word check_word_of(const char *name)
{
	enum check_word w = CHECK_MISSING;

	while (w < CHECK_WORDS && strcmp(words[w], name))
		w++;
	return w;
}

static void *tell_must(void *p)
{
	if (p)
		return p;
	fputs("storm check: no memory\n", stderr);
	exit(2);
}

static void tell_clean(char *text)
{
	for (char *p = text; *p; p++)
		if (iscntrl((unsigned char) *p))
			*p = '?';
}

static struct told_line *tell_find(enum check_word w, const char *text)
{
	struct told_line *l = told;

	while (l && (l->word != w || strcmp(l->text, text)))
		l = l->next;
	if (l)
		return l;
	l = tell_must(calloc(1, sizeof(*l)));
	l->word = w;
	strcpy(l->text, text);
	*told_end = l;
	told_end = &l->next;
	return l;
}

void check_tell(enum check_word w, const char *node, const char *fmt, ...)
{
	char text[TEXT_MAX], name[NODE_NAME_MAX];
	struct told_line *l;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(name, sizeof(name), "%s", node);
	tell_clean(text);
	tell_clean(name);
	l = tell_find(w, text);
	l->node = tell_must(realloc(l->node, (l->nodes + 1) * sizeof(char *)));
	l->node[l->nodes++] = tell_must(strdup(name));
}

/* ---------------------------------------------------------------- names of nodes --- */

/* A name with its last number taken out: "n" 007 "-ib". */
struct name_part {
	const char *name;
	size_t before, digits;
	uint64_t number;
};

static struct name_part name_split(const char *name)
{
	struct name_part p = { .name = name };
	size_t end = strlen(name), at;

	while (end && !isdigit((unsigned char) name[end - 1]))
		end--;
	for (at = end;
	     at && end - at < 18 && isdigit((unsigned char) name[at - 1]);)
		at--;
	p.before = end ? at : strlen(name);
	p.digits = end ? end - at : 0;
	p.number = strtoull(name + p.before, NULL, 10);
	return p;
}

static const char *name_rest(const struct name_part *p)
{
	return p->name + p->before + p->digits;
}

/* Do they go into one pair of brackets?  As Slurm reads them: [08-10] has two
 * digits, [8-10] any. */
static int name_compare_form(const struct name_part *a,
			     const struct name_part *b)
{
	size_t n = a->before < b->before ? a->before : b->before;
	int c = strncmp(a->name, b->name, n);

	if (!c)
		c = (a->before > b->before) - (a->before < b->before);
	if (!c)
		c = !!a->digits - !!b->digits;
	return c ? c : strcmp(name_rest(a), name_rest(b));
}

static int name_compare(const void *a, const void *b)
{
	const struct name_part *x = a, *y = b;
	int c = name_compare_form(x, y);

	if (!c)
		c = (x->number > y->number) - (x->number < y->number);
	return c ? c : (x->digits > y->digits) - (x->digits < y->digits);
}

static bool name_follows(const struct name_part *a, const struct name_part *b)
{
	const char *zero = b->name + b->before;

	return b->number == a->number + 1 &&
	       (a->digits == b->digits ||
		(*zero != '0' && a->name[a->before] != '0'));
}

/* The names [0, n) of one form. */
static void name_print_form(FILE *f, const struct name_part *p, size_t n)
{
	if (n == 1) {
		fputs(p->name, f);
		return;
	}
	fprintf(f, "%.*s[", (int) p->before, p->name);
	for (size_t i = 0, to; i < n; i = to + 1) {
		for (to = i; to + 1 < n && name_follows(&p[to], &p[to + 1]);)
			to++;
		fprintf(f, "%s%.*s", i ? "," : "", (int) p[i].digits,
			p[i].name + p[i].before);
		if (to > i)
			fprintf(f, "-%.*s", (int) p[to].digits,
				p[to].name + p[to].before);
	}
	fprintf(f, "]%s", name_rest(p));
}

char *check_names(const char *const *names, size_t n)
{
	struct name_part *p = tell_must(calloc(n + 1, sizeof(*p)));
	char *text = NULL;
	size_t len, kept = 0;
	FILE *f = tell_must(open_memstream(&text, &len));

	for (size_t i = 0; i < n; i++)
		p[i] = name_split(names[i]);
	qsort(p, n, sizeof(*p), name_compare);
	for (size_t i = 0; i < n; i++)
		if (!kept || strcmp(p[kept - 1].name, p[i].name))
			p[kept++] = p[i];
	for (size_t i = 0, to; i < kept; i = to) {
		for (to = i + 1;
		     to < kept && !name_compare_form(&p[i], &p[to]);)
			to++;
		if (i)
			fputc(',', f);
		name_print_form(f, p + i, to - i);
	}
	fclose(f);
	free(p);
	return tell_must(text);
}

/* -------------------------------------------------------------------- printing --- */

static void tell_print(FILE *to, const struct told_line *l)
{
	const char **name = tell_must(calloc(l->nodes, sizeof(*name)));
	bool here = false;
	size_t n = 0;
	char *names;

	for (size_t i = 0; i < l->nodes; i++)
		if (*l->node[i])
			name[n++] = l->node[i];
		else
			here = true;
	names = check_names(name, n);
	fprintf(to, "%-8s %s%s%s%s\n", words[l->word],
		here && n ? "here and " : "", names, n ? ": " : "", l->text);
	free(names);
	free(name);
}

bool check_tell_missing(void)
{
	const struct told_line *l = told;

	while (l && l->word != CHECK_MISSING)
		l = l->next;
	return l;
}

bool check_tell_all(FILE *to, bool quiet)
{
	for (int w = 0; w < (quiet ? CHECK_NOTE : CHECK_WORDS); w++)
		for (const struct told_line *l = told; l; l = l->next)
			if ((int) l->word == w)
				tell_print(to, l);
	return check_tell_missing();
}

void check_tell_raw(FILE *to, const char *here)
{
	for (const struct told_line *l = told; l; l = l->next)
		for (size_t i = 0; i < l->nodes; i++)
			fprintf(to, "%s\t%s\t%s\n", words[l->word],
				*l->node[i] ? l->node[i] : here, l->text);
}

bool check_tell_line(char *line)
{
	char *node = strchr(line, '\t'), *text = NULL;
	enum check_word w;

	if (node) {
		*node++ = '\0';
		text = strchr(node, '\t');
	}
	if (!text)
		return false;
	*text++ = '\0';
	text[strcspn(text, "\n")] = '\0';
	w = check_word_of(line);
	if (w == CHECK_WORDS)
		return false;
	check_tell(w, node, "%s", text);
	return true;
}
