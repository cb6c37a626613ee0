/*
 * stack_show.c - see stack_show.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "stack_show.h"

#define ARROW " < "

void stack_show_ranks(FILE *f, const struct storm_idset *s)
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
	if (stack_is_rankless(&one->ranks))
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

bool stack_rest(const struct stack_answer *a, unsigned int k,
		char (*out)[STACK_REST])
{
	static const char *const words[STACK_RESTS] = {
		"threads in stacks that are not kept",
		"more threads, not looked at: 1,024 of a process are",
		"more processes, not looked at: 4,096 of a node are",
	};
	const uint64_t rest[STACK_RESTS] = { a->stacks.over, a->unseen.threads,
					     a->unseen.processes };

	snprintf(*out, sizeof(*out), "and %llu %s",
		 (unsigned long long) rest[k], words[k]);
	return rest[k] > 0;
}

void stack_show_text(FILE *f, const struct stack_answer *a, bool threads)
{
	const struct stack_set *s = &a->stacks;
	char rest[STACK_REST];
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
	for (unsigned int k = 0; k < STACK_RESTS; k++)
		if (stack_rest(a, k, &rest))
			fprintf(f, "%s\n", rest);
	if (python)
		fputs("Python's own functions are not shown: PYTHONPERFSUPPORT=1 in the job shows those of Python 3.12 and later\n",
		      f);
}

/* ------------------------------------------------------------------------- JSON --- */

void stack_show_escaped(FILE *f, const char *text, size_t len)
{
	for (; len--; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', f);
		fputc(*text, f);
	}
}

static void stack_show_string(FILE *f, const char *text, size_t len)
{
	fputc('"', f);
	stack_show_escaped(f, text, len);
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
	bool ranks = !stack_is_rankless(&one->ranks);

	fputs("{\"step\": ", f);
	stack_show_string(f, one->label, strlen(one->label));
	fputs(", \"program\": ", f);
	stack_show_string(f, one->program, strlen(one->program));
	fputs(", \"ranks\": \"", f);
	if (ranks)
		stack_show_ranks(f, &one->ranks);
	fprintf(f, "\", \"tasks\": %llu, \"threads\": %llu, \"first\": %s, ",
		(unsigned long long) (ranks ? storm_idset_size(&one->ranks) :
					      0),
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
		"{\"job\": %u, \"nodes\": %u, \"answered\": %llu, \"processes\": %llu, \"merged\": %llu, \"bytes\": %llu, \"stood_us\": %llu, \"not_kept\": %llu, \"threads_not_seen\": %llu, \"processes_not_seen\": %llu, \"stacks\": [",
		j->id, j->nodes,
		(unsigned long long) storm_idset_size(&a->nodes),
		(unsigned long long) a->processes,
		(unsigned long long) a->merged, (unsigned long long) a->bytes,
		(unsigned long long) a->stood_us,
		(unsigned long long) a->stacks.over,
		(unsigned long long) a->unseen.threads,
		(unsigned long long) a->unseen.processes);
	for (uint32_t i = 0; i < a->stacks.count; i++) {
		fputs(i ? ", " : "", f);
		stack_show_one(f, a->stacks.all[i]);
	}
	fputs("]}\n", f);
}
