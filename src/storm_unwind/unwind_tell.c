/*
 * unwind_tell.c - see unwind_tell.h.  The tasks have gone on before anything is told.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "unwind_member.h"
#include "unwind_tell.h"

#define QUESTION_LIMIT (10 * STORM_SEC) /* until the next one */

size_t unwind_print(uint32_t nth, const char *line)
{
	char piece[STACK_PIECE + 1];
	size_t from = 0, all = 0, n;

	while ((n = stack_piece_put(&piece, nth, line, &from))) {
		fputs(piece, stdout);
		all += n;
	}
	return all;
}

/* Bytes that this node may send of all that may come to the asker. */
static size_t unwind_share(void)
{
	const char *nodes = getenv("SLURM_STEP_NUM_NODES");

	return stack_share(nodes ? (uint32_t) strtoul(nodes, NULL, 10) : 1);
}

void unwind_print_all(uint32_t nth, struct stack_set *s,
		      const struct stack_node *node)
{
	size_t room = unwind_share();
	char line[STACK_LINE];

	stack_set_sort(s);
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t from = 0;

		if (strlen(s->all[i]->text) >= room) {
			s->over += s->all[i]->count;
			continue;
		}
		while (stack_line_put(&line, s->all[i], &from))
			room -= storm_min(room, unwind_print(nth, line));
	}
	if (s->over) {
		stack_over_put(&line, s->over);
		unwind_print(nth, line);
	}
	if (node->unseen.threads || node->unseen.processes) {
		stack_unseen_put(&line, &node->unseen);
		unwind_print(nth, line);
	}
	stack_node_put(&line, node);
	unwind_print(nth, line);
	fflush(stdout);
}

/* One of this node's numbers. */
static bool tell_sum(enum stack_sum what, uint64_t n)
{
	bool well = true;

	n = storm_min(n, (uint64_t) UINT32_MAX);
	for (unsigned int bit = 0; bit < SUM_BITS && well; bit++)
		if (n >> bit & 1)
			well = member_report(REPORT_SUM, SUM_CODE(what, bit),
					     NULL);
	return well;
}

/* Report all.  That it is all comes last. */
static bool tell_all(const struct stack_codes *c, const struct stack_set *s,
		     const struct stack_node *node)
{
	bool well = tell_sum(SUM_PROCESSES, node->tasks) &&
		    tell_sum(SUM_THREADS, stack_set_threads(s)) &&
		    tell_sum(SUM_UNSEEN_THREADS, node->unseen.threads) &&
		    tell_sum(SUM_UNSEEN_PROCESSES, node->unseen.processes);

	for (uint32_t k = 0; k < c->count && well; k++)
		well = member_report(c->all[k].kind, c->all[k].code,
				     &c->all[k].ids);
	member_stood((node->stood_us + 999) / 1000);
	return well && tell_sum(SUM_DONE, 1);
}

/* Is it this node that is asked? */
static void tell_text(uint32_t nth, const struct stack_codes *c,
		      const struct stack_want *w)
{
	char line[STACK_LINE];

	for (uint32_t k = 0; k < c->count; k++) {
		const struct stack_code *one = &c->all[k];

		if (one->kind != w->kind || one->code != w->code ||
		    !storm_idset_has(&one->ids, w->id))
			continue;
		stack_text_put(&line, one);
		unwind_print(nth, line);
	}
}

bool unwind_tell(uint32_t nth, const struct stack_set *s,
		 struct stack_tallies *t, const struct stack_node *node)
{
	struct stack_want w[STACK_WANTS];
	struct stack_codes codes = { 0 };
	uint32_t place, count;
	bool last = false, well;

	well = member_place(&place) && !stack_codes_make(t, place, &codes) &&
	       tell_all(&codes, s, node);
	while (well && !last) {
		well = member_asked(&w, &count, &last,
				    storm_now() + QUESTION_LIMIT);
		for (uint32_t k = 0; well && k < count; k++)
			tell_text(nth, &codes, &w[k]);
		fflush(stdout);
	}
	stack_codes_clear(&codes);
	return last;
}
