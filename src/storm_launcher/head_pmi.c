/*
 * head_pmi.c - what ranks of MPI bring to their fences, until all nodes have come: then one
 * message tells all of them.  Ranks that cannot go on end their run.  See head_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "gather.h"
#include "head_private.h"
#include "px_wire.h"
#include "src/libstorm/base/minmax.h"

/* A node waits for data of a rank on another one. */
struct pmi_want {
	struct pmi_want *next;
	uint32_t rank, node, token;
};

/* A run of which something was brought, or is wanted. */
struct pmi_run {
	struct pmi_run *next;
	uint64_t number;
	struct gathers gathers;
	struct pmi_want *wants;
};

/* NULL: no memory. */
static struct pmi_run *head_pmi_run(uint64_t number)
{
	struct pmi_run *p = head.pmi_runs;

	while (p && p->number != number)
		p = p->next;
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->number = number;
	p->next = head.pmi_runs;
	head.pmi_runs = p;
	return p;
}

void head_pmi_drop(const struct user_run *run)
{
	struct pmi_run **at = &head.pmi_runs, *p;
	struct pmi_want *w;

	while ((p = *at) && p->number != run->number)
		at = &p->next;
	if (!p)
		return;
	*at = p->next;
	gathers_clear(&p->gathers);
	while ((w = p->wants)) {
		p->wants = w->next;
		free(w);
	}
	free(p);
}

/* The node of a rank. */
static uint32_t head_pmi_node(const struct user_run *run, uint32_t rank)
{
	uint32_t nth = 0, node = 0;

	while (run->rank[nth + 1] <= rank)
		nth++;
	while (run_place(&run->nodes, node) != nth)
		node++;
	return node;
}

/* Ranks wait for one that has ended. */
static void head_pmi_end_vain(struct user_run *run, const struct pmi_run *p)
{
	uint32_t rank;

	if (run->ends || run->killed ||
	    !gather_is_vain(&p->gathers, run->rank,
			    (uint32_t) storm_idset_size(&run->nodes),
			    &run->done, &rank))
		return;
	head_say(run->client,
		 "error: %s: task %u has ended, and others wait for it in MPI",
		 head_node_name(NULL, head_pmi_node(run, rank)), rank);
	head_end_mpi(run, 0);
}

static void head_pmi_give_nothing(struct user_run *run, uint32_t node,
				  uint32_t token)
{
	static const uint8_t nothing;
	const struct px_msg px = {
		.run = run->number, .code = token, .data = &nothing, .len = 1
	};

	head_cast_direct(run, node, RUN_GIVEN, &px);
}

/* A rank that has ended gives nothing: its launcher may have forgotten the run. */
static void head_pmi_end_wants(struct user_run *run, struct pmi_run *p)
{
	struct pmi_want **at = &p->wants, *w;

	while ((w = *at)) {
		if (!storm_idset_has(&run->done, w->rank)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		head_pmi_give_nothing(run, w->node, w->token);
		free(w);
	}
}

void head_pmi_check(void)
{
	for (struct pmi_run *p = head.pmi_runs; p; p = p->next) {
		struct user_run *run = runs_find(&head.runs, p->number);

		if (!run || run->state != RUN_RUNS)
			continue;
		head_pmi_end_vain(run, p);
		head_pmi_end_wants(run, p);
	}
}

static const char *head_fence_fault(enum gather_rc rc)
{
	return rc == GATHER_NOMEM ?
		       "there is no memory" :
	       rc == GATHER_BIG ?
		       "all ranks together have more data than a fence may have" :
		       "a node came to it that is not of it";
}

static void head_fence(struct user_run *run, const struct conn *c,
		       const struct pmi_msg *m)
{
	struct pmi_run *p = head_pmi_run(run->number);
	struct gather *one = NULL;
	enum gather_rc rc = GATHER_NOMEM;

	if (p)
		rc = gather_add(&p->gathers, run->rank,
				(uint32_t) storm_idset_size(&run->nodes),
				run_place(&run->nodes, c->node), &m->ranks,
				m->data, m->len, PMI_FENCE_MAX, &one);
	if (rc == GATHER_WHOLE) {
		head_cast_fenced(run, &one->ranks, one->data, one->len);
		gather_free(one);
	} else if (rc != GATHER_WAITS) {
		head_say(run->client,
			 "error: a fence of MPI's ranks cannot end: %s",
			 head_fence_fault(rc));
		head_end_mpi(run, 1);
	}
}

/* What a rank says, by its launcher, or what the launcher says itself. */
static void head_pmi_say(struct user_run *run, const struct conn *c,
			 const struct pmi_msg *m)
{
	int len = (int) storm_min(m->len, PMI_TEXT_MAX);
	const char *text = (const char *) m->data;

	if (m->kind == PMI_FAULT)
		head_say(run->client, "error: %s: %.*s",
			 head_node_name(NULL, c->node), len, text);
	else
		head_say(run->client, "%s%s: task %u: %.*s",
			 m->kind == PMI_END ? "error: " : "",
			 head_node_name(NULL, c->node), m->rank, len, text);
}

/* A node asks for data of a rank. */
static void head_pmi_want(struct user_run *run, const struct conn *c,
			  const struct pmi_msg *m)
{
	struct storm_range asks = { c->node, c->node };
	const struct px_msg px = { .run = run->number,
				   .rank = m->rank,
				   .code = m->code,
				   .ranks = { &asks, 1, 1 } };
	struct pmi_run *p = head_pmi_run(run->number);
	struct pmi_want *w = NULL;

	if (p && m->rank < run->tasks && !storm_idset_has(&run->done, m->rank))
		w = calloc(1, sizeof(*w));
	if (!w) {
		head_pmi_give_nothing(run, c->node, m->code);
		return;
	}
	w->rank = m->rank;
	w->node = c->node;
	w->token = m->code;
	w->next = p->wants;
	p->wants = w;
	head_cast_direct(run, head_pmi_node(run, m->rank), RUN_WANTED, &px);
}

/* It goes to the node that has asked; what nobody waits for is lost. */
static void head_pmi_given(struct user_run *run, const struct pmi_msg *m)
{
	const struct px_msg px = { .run = run->number,
				   .code = m->code,
				   .data = m->data,
				   .len = m->len };
	struct pmi_run *p = head_pmi_run(run->number);
	struct pmi_want **at = p ? &p->wants : NULL, *w;

	while (at && (w = *at)) {
		if (w->node != m->rank || w->token != m->code) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		free(w);
		head_cast_direct(run, m->rank, RUN_GIVEN, &px);
		return;
	}
}

void head_pmi(struct conn *c, struct storm_in *body)
{
	struct user_run *run = runs_find(&head.runs, c->run);
	struct pmi_msg m;

	if (!pmi_msg_get(body, &m)) {
		storm_log(STORM_LOG_ERROR, "run %llu: PMI cannot be read",
			  (unsigned long long) c->run);
		conn_close(c);
		return;
	}
	/* what comes of a run that ends counts no more */
	if (run && run->state == RUN_RUNS && !run->ends) {
		if (m.kind == PMI_FENCE) {
			head_fence(run, c, &m);
		} else if (m.kind == PMI_WANT) {
			head_pmi_want(run, c, &m);
		} else if (m.kind == PMI_GIVEN) {
			head_pmi_given(run, &m);
		} else {
			head_pmi_say(run, c, &m);
			if (m.kind != PMI_SAY)
				head_end_mpi(run, (int) (m.code & 0xff));
		}
	}
	pmi_msg_free(&m);
}
