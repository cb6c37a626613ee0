/*
 * stack_dot.c - the call tree of all ranks, for dot(1): stacks with an equal beginning share it, and
 * each call has all ranks that are below it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/idset.h"
#include "stack_show.h"

#define ARROW " < "

/* A function, as called by those above it. */
struct branch {
	const char *name;
	size_t len;
	struct branch *first, **end, *next; /* what it calls */
	struct storm_idset ranks;
	uint64_t rankless; /* threads of processes without a rank */
};

/* The last " < " before `end`, or NULL. */
static const char *dot_last_arrow(const char *text, const char *end)
{
	const char *found = NULL, *at = text;

	while ((at = strstr(at, ARROW)) && at < end) {
		found = at;
		at += strlen(ARROW);
	}
	return found;
}

/* The branch of this name below another one, which is made if there is none.  NULL: no memory. */
static struct branch *branch_below(struct branch *b, const char *name,
				   size_t len)
{
	struct branch *one;

	if (!b->end)
		b->end = &b->first;
	for (one = b->first; one; one = one->next)
		if (one->len == len && !memcmp(one->name, name, len))
			return one;
	one = calloc(1, sizeof(*one));
	if (!one)
		return NULL;
	one->name = name;
	one->len = len;
	*b->end = one;
	b->end = &one->next;
	return one;
}

/* Go down from *b to this name, which a stack has.  False: no memory. */
static bool branch_grow(struct branch **b, const struct stack_one *one,
			const char *name, size_t len)
{
	*b = branch_below(*b, name, len);
	if (!*b)
		return false;
	if (!stack_is_rankless(&one->ranks))
		return storm_idset_union(&(*b)->ranks, &one->ranks) == STORM_OK;
	(*b)->rankless += one->count;
	return true;
}

/* Add a stack from its outermost function on.  False: no memory. */
static bool branch_add(struct branch *root, const struct stack_one *one)
{
	const char *end = one->text + strlen(one->text), *arrow, *name;
	struct branch *b = root;

	/* main() of one program is not that of another */
	if (!branch_grow(&b, one, one->label, strlen(one->label)) ||
	    !branch_grow(&b, one, one->program, strlen(one->program)))
		return false;
	do {
		/* a reason is one thing, whatever is in it */
		arrow = one->kind == STACK_FAULT ?
				NULL :
				dot_last_arrow(one->text, end);
		name = arrow ? arrow + strlen(ARROW) : one->text;
		if (!branch_grow(&b, one, name, (size_t) (end - name)))
			return false;
		end = arrow;
	} while (arrow);
	return true;
}

/* Each name is known by a number, as many may be equal.  Returns the next number. */
static uint32_t branch_show(FILE *f, const struct branch *b, uint32_t number)
{
	uint32_t next = number + 1;

	for (const struct branch *c = b->first; c; c = c->next) {
		fprintf(f, "\tn%u [label=\"%s", next, number ? "" : "step ");
		stack_show_escaped(f, c->name, c->len);
		fprintf(f, "\"];\n\tn%u -> n%u [label=\"", number, next);
		stack_show_ranks(f, &c->ranks);
		if (c->rankless)
			fprintf(f, "%s%llu of no known rank",
				c->ranks.count ? " and " : "",
				(unsigned long long) c->rankless);
		fputs("\"];\n", f);
		next = branch_show(f, c, next);
	}
	return next;
}

static void branch_clear(struct branch *b)
{
	struct branch *next;

	for (struct branch *c = b->first; c; c = next) {
		next = c->next;
		branch_clear(c);
		free(c);
	}
	storm_idset_clear(&b->ranks);
}

static void dot_show_rest(FILE *f, const struct stack_answer *a)
{
	char text[STACK_REST];

	for (unsigned int k = 0; k < STACK_RESTS; k++)
		if (stack_rest(a, k, &text))
			fprintf(f,
				"\trest%u [shape=plaintext, label=\"%s\"];\n",
				k, text);
}

bool stack_show_dot(FILE *f, const struct stack_job *j,
		    const struct stack_answer *a, bool threads)
{
	struct branch root = { 0 };
	bool well = true;

	for (uint32_t i = 0; i < a->stacks.count && well; i++)
		if (a->stacks.all[i]->kind != STACK_THREAD || threads)
			well = branch_add(&root, a->stacks.all[i]);
	if (well) {
		fprintf(f,
			"digraph stacks {\n\tnode [shape=box];\n\tn0 [label=\"job %u\"];\n",
			j->id);
		branch_show(f, &root, 0);
		dot_show_rest(f, a);
		fputs("}\n", f);
	}
	branch_clear(&root);
	return well;
}
