/*
 * step_domain_known.c - paths between nodes that have failed some minutes ago, as a
 * domain meets them: known_paths.h keeps them for the user's other commands.  srun does
 * this without libstorm, too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/common/slurm_xlator.h"

#include "src/common/macros.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "known_paths.h"
#include "src/storm_common/fallback_word.h"
#include "step_domain.h"

/* The other end of a path, as a file keeps it. */
static const char *step_domain_from(const struct step_domain *sd,
				    const struct storm_fault *f)
{
	uint32_t above = step_domain_above(sd, f->node);

	return f->why == STORM_ETOOBIG || above == STORM_NO_NODE ?
		       "-" :
		       sd->names[above];
}

/* Is it of the path, or of an end that answers nothing at all? */
static bool step_domain_is_path(const struct storm_fault *f)
{
	switch (f->sys) {
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ECOMM:
	case ENOLINK:
		return f->why == STORM_ELOST;
	case EMSGSIZE:
		return f->why == STORM_ETOOBIG;
	case ENODATA:
		return f->why == STORM_ETIME;
	}
	return false;
}

void step_domain_keep(const struct step_domain *sd,
		      const struct storm_outcome *out)
{
	struct known_path *known =
		xcalloc(out->faults_kept + 1, sizeof(*known));
	uint32_t n = 0;

	for (uint32_t i = 0; i < out->faults_kept; i++) {
		const struct storm_fault *f = &out->faults[i];
		struct known_path *k = &known[n];

		if (f->node >= sd->count || !step_domain_is_path(f))
			continue;
		k->since = (long) time(NULL);
		k->why = (int) f->why;
		k->sys = f->sys;
		k->port = sd->nodes[f->node].addr.port;
		snprintf(k->node, sizeof(k->node), "%s", sd->names[f->node]);
		snprintf(k->from, sizeof(k->from), "%s",
			 step_domain_from(sd, f));
		n++;
	}
	known_paths_add(known, n);
	xfree(known);
}

/* Is it of a node of the domain, and of the way by which that is reached here? */
static bool step_domain_applies(const struct step_domain *sd,
				const struct known_path *k,
				struct storm_fault *f)
{
	*f = (struct storm_fault) { step_domain_find(sd, k->node),
				    (enum storm_err) k->why, k->sys };
	return f->node != STORM_NO_NODE && step_domain_is_path(f) &&
	       k->port == sd->nodes[f->node].addr.port &&
	       !xstrcmp(k->from, step_domain_from(sd, f));
}

/* As step_domain_known(); *out has the faults, which are freed with xfree(). */
static char *step_domain_known_faults(const struct step_domain *sd,
				      struct storm_outcome *out)
{
	struct known_path *known;
	uint32_t n = known_paths_load(&known);
	char *why = NULL;
	long ago = 0;

	*out = (struct storm_outcome) { 0 };
	if (n)
		out->faults = xcalloc(n, sizeof(*out->faults));
	for (uint32_t i = 0; i < n; i++) {
		if (!step_domain_applies(sd, &known[i],
					 &out->faults[out->faults_kept]))
			continue;
		out->faults_kept++;
		ago = MAX(ago, (long) time(NULL) - known[i].since);
	}
	out->nfaults = out->faults_kept;
	if ((why = step_domain_faults(sd, out)))
		xstrfmtcat(why, ", %ld s ago", ago);
	xfree(known);
	return why;
}

char *step_domain_known(const struct step_domain *sd)
{
	struct storm_outcome out;
	char *why = step_domain_known_faults(sd, &out);

	xfree(out.faults);
	return why;
}

char *step_domain_leave_known(struct step_domain *sd)
{
	struct storm_outcome out;
	bool left = true;
	char *why = NULL;

	/* without one node others have another path */
	while (left && (why = step_domain_known_faults(sd, &out))) {
		left = step_odd_leave_known(sd->odd, sd, &out, why);
		if (left)
			xfree(why);
		xfree(out.faults);
	}
	return why;
}

static void step_domain_told(const struct step_domain *sd, const char *nodelist,
			     const struct storm_outcome *out, const char *why,
			     struct fallback_told *told)
{
	char *faulty = step_odd_faulty(sd, out);

	*told = (struct fallback_told) {
		.cause = out->faults_kept ? fallback_of(out->faults[0].why) :
					    FALLBACK_OTHER,
		.keeper = step_odd_keeper(nodelist, faulty),
	};
	snprintf(told->text, sizeof(told->text), "%s", why);
	xfree(faulty);
}

char *step_domain_goes_round(const char *nodelist, const struct storm_conf *c,
			     struct fallback_told *told)
{
	struct step_domain sd = { .radix = c->set.radix };
	struct storm_outcome out = { 0 };
	char *why = NULL, *bad;

	if (!known_paths_certain())
		return NULL;
	if (!(bad = step_domain_take_names(&sd, nodelist, c->set.port)))
		why = step_domain_known_faults(&sd, &out);
	if (why && out.nfaults <= step_odd_most(c, sd.count))
		xfree(why);
	if (why)
		step_domain_told(&sd, nodelist, &out, why, told);
	xfree(out.faults);
	xfree(bad);
	step_domain_drop_names(&sd);
	return why;
}
