/*
 * stack_gather.c - see stack_gather.h.  Whatever fails, the domain is closed without the last
 * question: then each node prints all its stacks, and what was reported does not count.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"
#include "stack_gather.h"
#include "stack_settings.h"

#define REPORTS_LIMIT (4 * STORM_SEC) /* the nodes' alarm */
#define ASK_LIMIT (2 * STORM_SEC)
#define TEXTS_LIMIT STORM_SEC /* of one question */
#define AGAIN (2 * STORM_MS)
#define STOOD_FIRST 64 /* ms */
#define STOOD_MOST 8192

void stack_gather_init(struct stack_gather *g)
{
	memset(g, 0, sizeof(*g));
	pthread_mutex_init(&g->lock, NULL);
}

void stack_gather_on_report(void *arg, const struct storm_report *r)
{
	struct stack_gather *g = arg;

	pthread_mutex_lock(&g->lock);
	stack_heard_add(&g->heard, r->kind, r->code, &r->ids);
	pthread_mutex_unlock(&g->lock);
}

static void gather_go(struct stack_gather *g, enum gather_stage stage,
		      uint64_t limit)
{
	g->stage = stage;
	g->until = storm_now() + limit;
}

void stack_gather_begin(struct stack_gather *g, storm_domain_t *d,
			uint32_t nodes)
{
	g->d = d;
	g->nodes = nodes;
	gather_go(g, GATHER_REPORTS, REPORTS_LIMIT);
}

void stack_gather_end(struct stack_gather *g)
{
	storm_event_destroy(g->asking);
	storm_domain_destroy(g->d);
	g->asking = NULL;
	g->d = NULL;
}

static void gather_over(struct stack_gather *g, enum gather_stage how)
{
	g->stage = how;
	stack_gather_end(g);
}

void stack_gather_by_lines(struct stack_gather *g, uint32_t node)
{
	bool reported;

	if (!g->d)
		return;
	pthread_mutex_lock(&g->lock);
	reported = storm_idset_has(&g->heard.sums[SUM_DONE][0], node);
	pthread_mutex_unlock(&g->lock);
	/* without memory the time ends, and all print */
	if (storm_idset_add(&g->lines, node, node) || reported)
		gather_over(g, GATHER_FAILED);
}

int stack_gather_text(struct stack_gather *g, struct stack_said *said,
		      size_t len, struct stack_set *to)
{
	int rc;

	pthread_mutex_lock(&g->lock);
	rc = stack_heard_text(&g->heard, said, len, to);
	pthread_mutex_unlock(&g->lock);
	return rc;
}

/* Has each node said all, by its report or by itself?  *by_report: at least one. */
static bool gather_is_whole(struct stack_gather *g, bool *by_report)
{
	const struct storm_idset *done = &g->heard.sums[SUM_DONE][0];
	struct storm_idset all = { 0 };
	bool whole;

	pthread_mutex_lock(&g->lock);
	*by_report = done->count > 0;
	whole = !storm_idset_union(&all, done) &&
		!storm_idset_union(&all, &g->lines) &&
		storm_idset_size(&all) >= g->nodes;
	pthread_mutex_unlock(&g->lock);
	storm_idset_clear(&all);
	return whole;
}

/* Is what each node says less than that? */
static enum storm_compare gather_is_less(struct stack_gather *g, uint64_t ms)
{
	return storm_compare_and_write(g->d, NULL, STACK_STOOD, STORM_LT, ms,
				       NULL, NULL);
}

/* The most of what all nodes say, or up to a 32nd more, by some eight questions.  The
 * domain's thread hands out the reports that it has before it takes an answer, so all are here
 * then. */
static bool gather_stood(struct stack_gather *g)
{
	uint64_t least = 0, most = STOOD_FIRST;
	enum storm_compare less;

	while ((less = gather_is_less(g, most)) == STORM_FALSE &&
	       most < STOOD_MOST) {
		least = most;
		most *= 2;
	}
	while (less != STORM_FAILED && most - least > 1 + most / 32) {
		uint64_t half = (least + most) / 2;

		less = gather_is_less(g, half);
		if (less == STORM_TRUE)
			most = half;
		else
			least = half;
	}
	g->stood_us = (most - 1) * 1000;
	return less != STORM_FAILED;
}

/* Ask for the next texts. */
static void gather_ask(struct stack_gather *g)
{
	static const struct storm_target to = { .kind = STORM_TARGET_MEMORY,
						.remote_event = STACK_TELL };
	struct stack_want w[STACK_WANTS];
	uint32_t n;
	size_t len;

	pthread_mutex_lock(&g->lock);
	n = stack_heard_next(&g->heard, &w, &g->last);
	pthread_mutex_unlock(&g->lock);
	len = stack_wants_put(&g->question, g->last, w, n);
	if (n || g->last)
		g->asking = storm_xfer_and_signal(g->d, NULL, &to, g->question,
						  len);
	if (g->asking)
		gather_go(g, GATHER_ASKS, ASK_LIMIT);
	else
		gather_over(g, GATHER_FAILED);
}

/* Have all nodes the question? */
static void gather_asked(struct stack_gather *g)
{
	struct storm_outcome out = { 0 };
	bool well;

	if (!storm_test_event(g->asking, false, 0, &out)) {
		if (storm_now() > g->until)
			gather_over(g, GATHER_FAILED);
		return;
	}
	well = out.state == STORM_DONE;
	storm_outcome_clear(&out);
	storm_event_destroy(g->asking);
	g->asking = NULL;
	if (!well)
		gather_over(g, GATHER_FAILED);
	else if (g->last)
		gather_over(g, GATHER_DONE);
	else
		gather_go(g, GATHER_TEXTS, TEXTS_LIMIT);
}

uint64_t stack_gather_step(struct stack_gather *g)
{
	bool by_report;

	switch (g->stage) {
	case GATHER_REPORTS:
		if (gather_is_whole(g, &by_report)) {
			if (by_report && gather_stood(g))
				gather_ask(g);
			else
				gather_over(g, by_report ? GATHER_FAILED :
							   GATHER_NONE);
		} else if (storm_now() > g->until)
			gather_over(g, GATHER_FAILED);
		break;
	case GATHER_ASKS:
		gather_asked(g);
		break;
	case GATHER_TEXTS:
		/* one that does not come is part of the rest */
		if (!g->heard.open || storm_now() > g->until)
			gather_ask(g);
		break;
	default:
		return UINT64_MAX;
	}
	return storm_now() + AGAIN;
}

void stack_gather_clear(struct stack_gather *g)
{
	stack_gather_end(g);
	stack_heard_clear(&g->heard);
	storm_idset_clear(&g->lines);
	pthread_mutex_destroy(&g->lock);
}
