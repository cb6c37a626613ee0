/*
 * step_odd.c - see step_odd.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>

#include "src/common/slurm_xlator.h"

#include "src/common/hostlist.h"
#include "src/common/log.h"
#include "src/common/macros.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "step_domain.h"
#include "step_failed.h"
#include "step_odd.h"

/* A domain fails with the first fault that it has.  After so many attempts the
 * nodes are too odd for another one. */
#define ROUNDS_MAX 8

void step_odd_clear(struct step_odd *odd)
{
	xfree(odd->nodes);
	xfree(odd->failed);
	xfree(odd->failed_why);
	xfree(odd->faulty);
	xfree(odd->untold);
	xfree(odd->untold_why);
	xfree(odd->failed_untold);
	*odd = (struct step_odd) { .conf = odd->conf };
}

uint32_t step_odd_most(const struct storm_conf *c, uint32_t nodes)
{
	uint64_t most = c->odd_max;

	if (c->fallback != FALLBACK_NODES || nodes < 2)
		return 0;
	if (c->odd_percent)
		most = most * nodes / 100;
	most = MAX(most, 1);
	return (uint32_t) MIN(most, nodes - 1);
}

static struct hostlist *step_odd_list(const struct step_odd *odd)
{
	return hostlist_create(odd->nodes);
}

void step_odd_remove(const struct step_odd *odd, struct step_domain *sd)
{
	struct hostlist *hl;
	uint32_t n = 0;

	if (!odd->count)
		return;
	hl = step_odd_list(odd);
	for (uint32_t i = 0; i < sd->count; i++) {
		if (hostlist_find(hl, sd->names[i]) >= 0) {
			xfree(sd->names[i]);
			continue;
		}
		sd->names[n] = sd->names[i];
		sd->nodes[n++] = sd->nodes[i];
	}
	for (uint32_t i = n; i < sd->count; i++)
		sd->names[i] = NULL;
	sd->count = n;
	hostlist_destroy(hl);
}

/* Has this process named all of these nodes?  From now on it has.  The components of
 * a heterogeneous step may have the same. */
static bool step_odd_is_told(const char *nodelist)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct hostlist *told;
	struct hostlist *nodes = hostlist_create(nodelist);
	bool all = true;
	char *name;

	slurm_mutex_lock(&lock);
	if (!told)
		told = hostlist_create(NULL);
	while ((name = hostlist_shift(nodes))) {
		if (hostlist_find(told, name) < 0) {
			hostlist_push_host(told, name);
			all = false;
		}
		free(name);
	}
	slurm_mutex_unlock(&lock);
	hostlist_destroy(nodes);
	return all;
}

static void step_odd_tell_failed(struct step_odd *odd)
{
	if (odd->failed_untold)
		info("warning: storm: neither agent nor slurmd answers on %s; going on without, as --no-kill allows: tasks there count as lost",
		     odd->failed_untold);
	xfree(odd->failed_untold);
}

void step_odd_tell(struct step_odd *odd)
{
	char *text;

	step_odd_tell_failed(odd);
	if (!odd->untold)
		return;
	text = xstrdup_printf(
		"%s; falling back to Slurm's own messages there, and not for the other ",
		odd->untold_why);
	if (odd->others == 1)
		xstrcat(text, "node");
	else
		xstrfmtcat(text, "%u nodes", odd->others);
	if (step_odd_is_told(odd->untold))
		verbose("storm: %s", text);
	else
		info("warning: storm: %s", text);
	xfree(text);
	xfree(odd->untold);
	xfree(odd->untold_why);
}

char *step_odd_why_all(struct step_odd *odd, char *why)
{
	char *text = odd->untold_why;

	step_odd_tell_failed(odd);
	odd->untold_why = NULL;
	xfree(odd->untold);
	if (!text)
		return why;
	xstrfmtcat(text, "; %s", why);
	xfree(why);
	return text;
}

/* The nodes of the faults (hostlist_destroy()).  NULL: they are too many, or a
 * fault is not of a node. */
static struct hostlist *step_odd_few(const struct step_odd *odd,
				     const struct step_domain *sd,
				     const struct storm_outcome *out)
{
	uint32_t most = step_odd_most(odd->conf, sd->count + odd->count), n;
	struct hostlist *hl;

	if (!out->nfaults || out->nfaults > out->faults_kept ||
	    odd->count - odd->failures >= most)
		return NULL;
	hl = hostlist_create(NULL);
	for (uint32_t i = 0; i < out->nfaults; i++) {
		if (out->faults[i].node >= sd->count) {
			hostlist_destroy(hl);
			return NULL;
		}
		hostlist_push_host(hl, sd->names[out->faults[i].node]);
	}
	hostlist_uniq(hl);
	n = (uint32_t) hostlist_count(hl);
	if (odd->count - odd->failures + n <= most)
		return hl;
	hostlist_destroy(hl);
	return NULL;
}

static void step_odd_add(struct hostlist *nodes, char **list)
{
	char *text = hostlist_ranged_string_xmalloc(nodes);

	xstrfmtcat(*list, "%s%s", *list ? "," : "", text);
	xfree(text);
}

static void step_odd_leave_out(struct step_odd *odd,
			       const struct step_domain *sd,
			       struct hostlist *nodes)
{
	uint32_t n = (uint32_t) hostlist_count(nodes);

	step_odd_add(nodes, &odd->nodes);
	odd->count += n;
	odd->others = sd->count - n;
}

/* Takes over nodes. */
static void step_odd_take(struct step_odd *odd, const struct step_domain *sd,
			  struct hostlist *nodes, const char *why)
{
	step_odd_leave_out(odd, sd, nodes);
	step_odd_add(nodes, &odd->untold);
	xstrfmtcat(odd->untold_why, "%s%s", odd->untold_why ? "; " : "", why);
	hostlist_destroy(nodes);
}

/* FailedLaunch: have nodes with faults failed?  True: that decides what is done,
 * and all that did are in odd->failed. */
static bool step_odd_failed(struct step_odd *odd, const struct step_domain *sd,
			    const struct storm_outcome *out)
{
	struct hostlist *bad;
	char *why = NULL;
	uint32_t n;

	if (odd->conf->failed_launch == FAILED_LAUNCH_FALLBACK ||
	    !(bad = step_failed_ask(sd, out, !odd->may_leave, &why)))
		return false;
	n = (uint32_t) hostlist_count(bad);
	step_odd_add(bad, &odd->failed);
	odd->failures += n;
	xstrfmtcat(odd->failed_why, "%s%s", odd->failed_why ? ", " : "", why);
	odd->stop = !odd->may_leave || n >= sd->count;
	if (!odd->stop) {
		step_odd_leave_out(odd, sd, bad);
		xstrfmtcat(odd->failed_untold, "%s%s",
			   odd->failed_untold ? ", " : "", why);
	}
	hostlist_destroy(bad);
	xfree(why);
	return true;
}

char *step_odd_why_stop(const struct step_odd *odd)
{
	return xstrdup_printf("neither agent nor slurmd answers on %s",
			      odd->failed_why);
}

char *step_odd_no_launch(const struct step_odd *odd)
{
	bool could = odd->conf->failed_launch == FAILED_LAUNCH_RETRY &&
		     !odd->may_leave;
	char *why = step_odd_why_stop(odd), *text;

	text = xstrdup_printf(
		"%s; no task was started, as FailedLaunch says; repair that, or use --exclude=%s%s",
		why, odd->failed, could ? " or --no-kill" : "");
	xfree(why);
	return text;
}

char *step_odd_faulty(const struct step_domain *sd,
		      const struct storm_outcome *out)
{
	struct hostlist *hl = hostlist_create(NULL);
	char *names;

	for (uint32_t i = 0; i < out->faults_kept; i++)
		if (out->faults[i].node < sd->count)
			hostlist_push_host(hl, sd->names[out->faults[i].node]);
	names = hostlist_ranged_string_xmalloc(hl);
	hostlist_destroy(hl);
	return names;
}

uint32_t step_odd_keeper(const char *nodelist, const char *faulty)
{
	struct hostlist *all = hostlist_create(nodelist);
	struct hostlist *bad = hostlist_create(faulty);
	uint32_t i = 0, keeper = 0;
	char *name;

	while ((name = hostlist_shift(all))) {
		bool good = hostlist_find(bad, name) < 0;

		free(name);
		if (good) {
			keeper = i;
			break;
		}
		i++;
	}
	hostlist_destroy(all);
	hostlist_destroy(bad);
	return keeper;
}

static void step_odd_keep(struct step_odd *odd, const struct step_domain *sd,
			  const struct storm_outcome *out)
{
	xfree(odd->faulty);
	odd->faulty = step_odd_faulty(sd, out);
	odd->err = out->faults_kept ? out->faults[0].why : STORM_OK;
}

bool step_odd_leave(struct step_odd *odd, const struct step_domain *sd,
		    const struct storm_outcome *out, const char *why)
{
	struct hostlist *few;

	if (!odd || !odd->conf || odd->stop)
		return false;
	step_odd_keep(odd, sd, out);
	if (step_odd_failed(odd, sd, out)) {
		odd->again = !odd->stop;
		return odd->again;
	}
	if (odd->rounds >= ROUNDS_MAX || !(few = step_odd_few(odd, sd, out)))
		return false;
	step_odd_take(odd, sd, few, why);
	odd->rounds++;
	odd->again = true;
	return true;
}

bool step_odd_leave_known(struct step_odd *odd, struct step_domain *sd,
			  const struct storm_outcome *out, const char *why)
{
	struct hostlist *few;

	if (!odd || !odd->conf || odd->stop)
		return false;
	step_odd_keep(odd, sd, out);
	if (step_odd_failed(odd, sd, out)) {
		if (!odd->stop)
			step_odd_remove(odd, sd);
		return !odd->stop;
	}
	if (!(few = step_odd_few(odd, sd, out)))
		return false;
	step_odd_take(odd, sd, few, why);
	step_odd_remove(odd, sd);
	return true;
}

char *step_odd_of(const struct step_odd *odd, const char *nodelist)
{
	struct hostlist *hl, *some;
	char *name, *text = NULL;

	if (!odd->count)
		return NULL;
	some = hostlist_create(NULL);
	if ((hl = hostlist_create(nodelist))) {
		struct hostlist *all = step_odd_list(odd);

		while ((name = hostlist_shift(hl))) {
			if (hostlist_find(all, name) >= 0)
				hostlist_push_host(some, name);
			free(name);
		}
		hostlist_destroy(all);
		hostlist_destroy(hl);
	}
	if (hostlist_count(some))
		text = hostlist_ranged_string_xmalloc(some);
	hostlist_destroy(some);
	return text;
}

char *step_odd_living(const struct step_odd *odd, const char *nodelist)
{
	struct hostlist *hl;
	char *text;

	if (!odd->failed || !(hl = hostlist_create(nodelist)))
		return xstrdup(nodelist);
	hostlist_delete(hl, odd->failed);
	text = hostlist_ranged_string_xmalloc(hl);
	hostlist_destroy(hl);
	return text;
}

char *step_odd_served(const struct step_odd *odd, const char *nodelist)
{
	char *some = step_odd_of(odd, nodelist), *text = NULL;

	if (some)
		text = step_odd_living(odd, some);
	xfree(some);
	if (text && !text[0])
		xfree(text);
	return text;
}
