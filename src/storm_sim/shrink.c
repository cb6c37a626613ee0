/*
 * shrink.c - see shrink.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "shrink.h"

/* The length of the list of faults and operations.  The first operation, OPEN,
 * is not in the list, because it always stays. */
static uint32_t shrink_length(const struct scenario *s)
{
	return s->faults + s->ops - 1;
}

/* A copy without the items [from, from + n). */
static struct scenario *shrink_without(const struct scenario *s, uint32_t from,
				       uint32_t n)
{
	struct scenario *c = scenario_copy(s);
	uint32_t faults = 0, ops = 1;

	for (uint32_t i = 0; i < shrink_length(s); i++) {
		if (i >= from && i < from + n)
			continue;
		if (i < s->faults)
			c->fault[faults++] = s->fault[i];
		else
			c->op[ops++] = s->op[i - s->faults + 1];
	}
	c->faults = faults;
	c->ops = ops;
	return c;
}

/* Replace *s by c if c fails, too. */
static bool shrink_replace(struct scenario **s, struct scenario *c,
			   shrink_fails fails, void *arg)
{
	if (!fails(c, arg)) {
		scenario_free(c);
		return false;
	}
	scenario_free(*s);
	*s = c;
	return true;
}

static void shrink_list(struct scenario **s, shrink_fails fails, void *arg)
{
	uint32_t part = shrink_length(*s);

	while (part) {
		bool less = false;

		for (uint32_t at = 0; at < shrink_length(*s);) {
			if (shrink_replace(s, shrink_without(*s, at, part),
					   fails, arg))
				less = true;
			else
				at += part;
		}
		if (part > shrink_length(*s))
			part = shrink_length(*s);
		else if (!less || part > 1)
			part = less && part == 1 ? 1 : part / 2;
	}
}

static void shrink_repeats(struct scenario **s, shrink_fails fails, void *arg)
{
	for (uint32_t i = 0; i < (*s)->ops; i++)
		while ((*s)->op[i].repeat > 1) {
			struct scenario *c = scenario_copy(*s);

			c->op[i].repeat /= 2;
			if (!shrink_replace(s, c, fails, arg))
				break;
		}
}

static bool shrink_to_nodes(struct scenario **s, uint32_t nodes,
			    shrink_fails fails, void *arg)
{
	struct scenario *c = scenario_copy(*s);

	c->nodes = nodes;
	scenario_settle(c);
	return shrink_replace(s, c, fails, arg);
}

static void shrink_nodes(struct scenario **s, shrink_fails fails, void *arg)
{
	uint32_t less = (*s)->nodes / 2;

	while (less) {
		if ((*s)->nodes <= less ||
		    !shrink_to_nodes(s, (*s)->nodes - less, fails, arg))
			less /= 2;
	}
}

struct scenario *shrink_scenario(const struct scenario *s, shrink_fails fails,
				 void *arg)
{
	struct scenario *c = scenario_copy(s);

	shrink_nodes(&c, fails, arg); /* first: fewer nodes run faster */
	shrink_list(&c, fails, arg);
	shrink_repeats(&c, fails, arg);
	shrink_nodes(&c, fails, arg);
	shrink_list(&c, fails, arg);
	return c;
}
