/*
 * status_ask.c - see status_ask.h.
 *
 * A step's domain needs all of its nodes.  So those that do not open it are left out
 * of the next one.  It fails with the first that are found, and others may be behind
 * these in the tree.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <string.h>

#include "slurm/slurm.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"

#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "status_ask.h"

#define OPEN (3 * STORM_SEC)   /* within which agents answer OPEN */
#define GATHER (2 * STORM_SEC) /* within which they answer the question */
#define LIMIT (15 * STORM_SEC) /* within which the last try begins */

static storm_domain_t *status_domain(const struct status_nodes *n,
				     const struct storm_conf *c,
				     struct status_answer *a, int *err)
{
	struct storm_node *is = xcalloc(n->count, sizeof(*is));
	struct storm_domain_conf dc = { .nodes = is };
	storm_domain_t *d = NULL;

	a->count = 0;
	for (uint32_t i = 0; i < n->count; i++)
		if (!n->node[i].silent) {
			is[a->count] = n->node[i].is;
			a->asked[a->count++] = i;
		}
	dc.count = a->count;
	dc.set = c->set;
	dc.set.open_timeout = storm_min(dc.set.open_timeout, OPEN);
	dc.agent_uid = slurm_conf.slurmd_user_id;
	dc.job_id = dc.step_id = dc.step_het = NO_VAL;
	*err = STORM_OK;
	if (a->count)
		d = storm_domain_create(&dc, err);
	xfree(is);
	return d;
}

/* Returns how many are silent that were not. */
static uint32_t status_mark(struct status_nodes *n,
			    const struct status_answer *a,
			    const struct storm_outcome *out)
{
	uint32_t more = 0;

	for (uint32_t i = 0; i < out->faults_kept; i++) {
		const struct storm_fault *f = &out->faults[i];
		struct status_node *node;

		if (f->node >= a->count)
			continue;
		node = &n->node[a->asked[f->node]];
		more += !node->silent;
		node->silent = true;
		node->got.why = f->why;
		node->got.sys = f->sys;
	}
	return more;
}

/* An outcome does not keep all faults. */
static void status_mark_missing(struct status_nodes *n,
				const struct status_answer *a)
{
	const struct storm_idset *missing = &a->table.missing;

	for (uint32_t i = 0; i < missing->count; i++)
		for (uint64_t k = missing->r[i].first;
		     k <= missing->r[i].last && k < a->count; k++) {
			struct status_node *node = &n->node[a->asked[k]];

			if (!node->silent)
				node->got.why = STORM_ETIME;
			node->silent = true;
		}
}

static int status_gather(struct status_nodes *n, storm_domain_t *d,
			 const char *query, struct status_answer *a)
{
	storm_event_t *e = storm_gather(d, NULL, query, strlen(query),
					storm_now() + GATHER);
	struct storm_outcome out = { 0 };
	int err;

	if (!e)
		return STORM_ECLOSED;
	storm_test_event(e, true, STORM_NEVER, &out);
	(void) status_mark(n, a, &out);
	storm_outcome_clear(&out);
	err = storm_event_gathered(e, &a->table);
	if (!err)
		status_mark_missing(n, a);
	storm_event_destroy(e);
	storm_domain_stats(d, &a->stats);
	return err;
}

/* One try.  *more: how many are silent that were not before. */
static int status_try(struct status_nodes *n, storm_domain_t *d,
		      const char *query, struct status_answer *out,
		      uint32_t *more)
{
	struct storm_outcome faults = { 0 };
	int err = storm_domain_open(d);

	if (!err)
		err = storm_domain_wait_open(d, &faults);
	*more = status_mark(n, out, &faults);
	storm_outcome_clear(&faults);
	return err ? err : status_gather(n, d, query, out);
}

int status_ask(struct status_nodes *n, const struct storm_conf *c,
	       const char *query, struct status_answer *out)
{
	uint64_t until = storm_now() + LIMIT;
	uint32_t more;
	int err;

	*out = (struct status_answer) { 0 };
	out->asked = xcalloc(n->count, sizeof(*out->asked));
	do {
		storm_domain_t *d = status_domain(n, c, out, &err);

		if (!d)
			return err;
		err = status_try(n, d, query, out, &more);
		storm_domain_destroy(d);
	} while (err && more && storm_now() < until);
	return err;
}

void status_answer_clear(struct status_answer *a)
{
	storm_gathered_clear(&a->table);
	xfree(a->asked);
}
