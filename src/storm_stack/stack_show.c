/*
 * stack_show.c - see stack_show.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "stack_show.h"

#define ARROW " < "

static void stack_show_ranks(FILE *f, const struct storm_idset *s)
{
	for (uint32_t k = 0; k < s->count; k++) {
		const struct storm_range *r = &s->r[k];

		fprintf(f, "%s%u", k ? "," : "", r->first);
		if (r->last > r->first)
			fprintf(f, "-%u", r->last);
	}
}

/* ------------------------------------------------------------------------- text --- */

/* Is it of the step of all others?  Then the step is not said. */
static bool stack_is_one_label(const struct stack_set *s)
{
	for (uint32_t i = 1; i < s->count; i++)
		if (strcmp(s->all[i]->label, s->all[0]->label) != 0)
			return false;
	return true;
}

/* Is it of the program of all others in its step? */
static bool stack_is_one_program(const struct stack_set *s,
				 const struct stack_one *one)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (!strcmp(s->all[i]->label, one->label) &&
		    strcmp(s->all[i]->program, one->program) != 0)
			return false;
	return true;
}

static void stack_show_line(FILE *f, const struct stack_set *s,
			    const struct stack_one *one, bool label)
{
	if (label)
		fprintf(f, "step %s ", one->label);
	if (storm_idset_has(&one->ranks, STACK_NO_RANK))
		fprintf(f, "%llu of no known rank",
			(unsigned long long) one->count);
	else {
		fputs(storm_idset_size(&one->ranks) > 1 ? "ranks " : "rank ",
		      f);
		stack_show_ranks(f, &one->ranks);
	}
	if (one->kind == STACK_THREAD)
		fprintf(f, ", %llu thread%s", (unsigned long long) one->count,
			one->count > 1 ? "s" : "");
	if (!stack_is_one_program(s, one))
		fprintf(f, " (%s)", one->program);
	fprintf(f, ": %s%s\n", one->kind == STACK_FAULT ? "no stack: " : "",
		one->text);
}

/* Python is there, and has not told the names of its functions.  A program without
 * symbols has those names alone that Python's modules need. */
static bool stack_is_python(const struct stack_one *one)
{
	return strstr(one->text, "PyEval_Eval") && !strstr(one->text, "py:");
}

void stack_show_text(FILE *f, const struct stack_set *s, bool threads)
{
	bool label = !stack_is_one_label(s);
	uint64_t others = 0, stacks = 0;
	bool python = false;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct stack_one *one = s->all[i];

		python |= stack_is_python(one);
		if (one->kind != STACK_THREAD || threads) {
			stack_show_line(f, s, one, label);
			continue;
		}
		others += one->count;
		stacks++;
	}
	if (others)
		fprintf(f,
			"and %llu other threads in %llu stacks, see --threads\n",
			(unsigned long long) others,
			(unsigned long long) stacks);
	if (s->over)
		fprintf(f, "and %llu threads in stacks that are not kept\n",
			(unsigned long long) s->over);
	if (python)
		fputs("Python's own functions are not shown: PYTHONPERFSUPPORT=1 in the job shows those of Python 3.12 and later\n",
		      f);
}

/* ------------------------------------------------------------------------- JSON --- */

/* The texts are printable ASCII. */
static void stack_show_string(FILE *f, const char *text, size_t len)
{
	fputc('"', f);
	for (; len--; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', f);
		fputc(*text, f);
	}
	fputc('"', f);
}

static void stack_show_frames(FILE *f, const char *text)
{
	const char *end;

	for (; (end = strstr(text, ARROW)); text = end + strlen(ARROW)) {
		stack_show_string(f, text, (size_t) (end - text));
		fputs(", ", f);
	}
	stack_show_string(f, text, strlen(text));
}

static void stack_show_one(FILE *f, const struct stack_one *one)
{
	fputs("{\"step\": ", f);
	stack_show_string(f, one->label, strlen(one->label));
	fputs(", \"program\": ", f);
	stack_show_string(f, one->program, strlen(one->program));
	fputs(", \"ranks\": \"", f);
	stack_show_ranks(f, &one->ranks);
	fprintf(f, "\", \"tasks\": %llu, \"threads\": %llu, \"first\": %s, ",
		(unsigned long long) storm_idset_size(&one->ranks),
		(unsigned long long) one->count,
		one->kind == STACK_THREAD ? "false" : "true");
	if (one->kind == STACK_FAULT) {
		fputs("\"fault\": ", f);
		stack_show_string(f, one->text, strlen(one->text));
	} else {
		fputs("\"frames\": [", f);
		stack_show_frames(f, one->text);
		fputc(']', f);
	}
	fputc('}', f);
}

void stack_show_json(FILE *f, const struct stack_job *j,
		     const struct stack_answer *a)
{
	fprintf(f,
		"{\"job\": %u, \"nodes\": %u, \"answered\": %llu, \"processes\": %llu, \"merged\": %llu, \"bytes\": %llu, \"stood_us\": %llu, \"not_kept\": %llu, \"stacks\": [",
		j->id, j->nodes,
		(unsigned long long) storm_idset_size(&a->nodes),
		(unsigned long long) a->processes,
		(unsigned long long) a->merged, (unsigned long long) a->bytes,
		(unsigned long long) a->stood_us,
		(unsigned long long) a->stacks.over);
	for (uint32_t i = 0; i < a->stacks.count; i++) {
		fputs(i ? ", " : "", f);
		stack_show_one(f, a->stacks.all[i]);
	}
	fputs("]}\n", f);
}

/* -------------------------------------------------------------------------- dot --- */

/* The last " < " before `end`, or NULL. */
static const char *stack_last_arrow(const char *text, const char *end)
{
	const char *found = NULL, *at = text;

	while ((at = strstr(at, ARROW)) && at < end) {
		found = at;
		at += strlen(ARROW);
	}
	return found;
}

/* A node of the tree is known by the stack from main down to it.  So equal beginnings of
 * two stacks have the same nodes. */
static void stack_show_node(FILE *f, const char *from)
{
	stack_show_string(f, from, strlen(from));
}

static void stack_show_edges(FILE *f, const struct stack_one *one)
{
	const char *end = one->text + strlen(one->text), *arrow;
	const char *above = NULL;

	do {
		const char *name;

		arrow = stack_last_arrow(one->text, end);
		name = arrow ? arrow + strlen(ARROW) : one->text;
		fputs("\t", f);
		stack_show_node(f, name);
		fputs(" [label=", f);
		stack_show_string(f, name, (size_t) (end - name));
		fputs("];\n", f);
		if (above) {
			fputs("\t", f);
			stack_show_node(f, above);
			fputs(" -> ", f);
			stack_show_node(f, name);
			fputs(" [label=\"", f);
			stack_show_ranks(f, &one->ranks);
			fputs("\"];\n", f);
		}
		above = name;
		end = arrow;
	} while (arrow);
}

void stack_show_dot(FILE *f, const struct stack_set *s)
{
	fputs("digraph stacks {\n\tnode [shape=box];\n", f);
	for (uint32_t i = 0; i < s->count; i++)
		if (s->all[i]->kind == STACK_MAIN)
			stack_show_edges(f, s->all[i]);
	fputs("}\n", f);
}
