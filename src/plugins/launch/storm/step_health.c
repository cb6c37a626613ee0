/*
 * step_health.c - see step_health.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "src/common/slurm_xlator.h"

#include "src/common/log.h"
#include "src/common/xmalloc.h"

#include "src/libstorm/base/idset.h"
#include "src/libstorm/function/questions.h"
#include "src/storm_common/health_word.h"
#include "step_health.h"

#define QUESTIONS 100 /* some 5 ms; more is not worth a warning */

static enum storm_compare
step_health_ask(void *arg, const struct storm_idset *P, enum storm_relation rel,
		uint64_t value, struct storm_outcome *out)
{
	return storm_compare_and_write(arg, P, HEALTH_VAR, rel, value, NULL,
				       out);
}

static void step_health_warn(const struct step_domain *sd,
			     const struct storm_idset *nodes,
			     enum health_cause cause)
{
	char *names = step_domain_names(sd, nodes);

	info("warning: storm: not well: %s: %s; the step goes there all the same",
	     names, health_text(cause));
	xfree(names);
}

/* Warn of those with this cause, and take them out of *nodes. */
static void step_health_cause(const struct step_domain *sd, struct questions *q,
			      struct storm_idset *nodes,
			      enum health_cause cause)
{
	struct storm_idset P = { 0 }, other = { 0 }, unknown = { 0 };
	struct storm_idset same = { 0 };

	if (!storm_idset_union(&P, nodes) &&
	    !questions_find(q, &P, STORM_EQ, cause, &other, &unknown) &&
	    !storm_idset_minus(nodes, &other, &same) &&
	    !storm_idset_drop(&same, &unknown) &&
	    !storm_idset_drop(&same, &q->mute) && same.count) {
		step_health_warn(sd, &same, cause);
		storm_idset_drop(nodes, &same);
	}
	storm_idset_clear(&P);
	storm_idset_clear(&other);
	storm_idset_clear(&unknown);
	storm_idset_clear(&same);
}

void step_health_look(const struct step_domain *sd)
{
	struct questions q = { .ask = step_health_ask,
			       .arg = sd->d,
			       .left = QUESTIONS };
	struct storm_idset P = { 0 }, bad = { 0 }, unknown = { 0 };

	/* a node that does not answer is another matter: the operation names it */
	if (!sd->count || storm_idset_add(&P, 0, sd->count - 1) ||
	    questions_find(&q, &P, STORM_EQ, HEALTH_WELL, &bad, &unknown))
		bad.count = 0;
	for (int cause = HEALTH_UNCHECKED; cause < HEALTH_CAUSES && bad.count;
	     cause++)
		step_health_cause(sd, &q, &bad, (enum health_cause) cause);
	storm_idset_clear(&P);
	storm_idset_clear(&bad);
	storm_idset_clear(&unknown);
	storm_idset_clear(&q.mute);
}
