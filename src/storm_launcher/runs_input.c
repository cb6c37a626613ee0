/*
 * runs_input.c - a run's input, as the head has it.  See runs.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "run_pieces.h"
#include "runs_private.h"
#include "src/libstorm/base/idset.h"

bool run_lends(const struct run_start *s, const struct run_what *w)
{
	uint32_t nth = run_place(&s->nodes, s->local);
	uint32_t rank = w->input == RUN_INPUT_ONE ? w->input_rank : 0;

	if (!w->lends || nth == UINT32_MAX)
		return false;
	if (w->input != RUN_INPUT_ONE &&
	    !(w->input == RUN_INPUT_ALL && s->tasks == 1))
		return false;
	return rank >= s->rank[nth] && rank < s->rank[nth + 1];
}

bool run_input_open(struct user_run *run, enum run_input input, uint32_t rank)
{
	uint32_t n = input == RUN_INPUT_NONE ? 0 :
		     input == RUN_INPUT_EACH ? run->tasks :
					       1;

	run->input = input;
	run->input_rank = input == RUN_INPUT_ONE ? rank : RUN_ALL_RANKS;
	run->feed = n ? calloc(n, sizeof(*run->feed)) : NULL;
	run->feeds = run->feed ? n : 0;
	return run->feeds == n;
}

struct run_feed *run_feed_of(const struct user_run *run, uint32_t rank)
{
	if (run->input == RUN_INPUT_EACH)
		return rank < run->feeds ? &run->feed[rank] : NULL;
	return run->feeds && rank == run->input_rank ? run->feed : NULL;
}

bool run_ranks_on(const struct user_run *run, uint32_t node, uint32_t *first,
		  uint32_t *last)
{
	uint32_t nth = run_place(&run->nodes, node);

	if (nth == UINT32_MAX || !run->rank)
		return false;
	*first = run->rank[nth];
	*last = run->rank[nth + 1] - 1;
	return true;
}

uint32_t run_nodes_left(const struct user_run *run)
{
	uint32_t nodes = (uint32_t) storm_idset_size(&run->nodes), left = 0;

	for (uint32_t nth = 0; nth < nodes; nth++)
		left += !runs_node_done(run, nth);
	return left;
}

bool run_next_gone(struct user_run *run, uint32_t *rank, uint32_t *code)
{
	struct run_ended *e = run->gone;
	struct storm_range *r;

	if (!e)
		return false;
	r = &e->tasks.r[e->tasks.count - 1];
	*rank = r->last;
	*code = e->code;
	if (r->last-- > r->first)
		return true;
	if (--e->tasks.count)
		return true;
	run->gone = e->next;
	storm_idset_clear(&e->tasks);
	free(e);
	return true;
}
