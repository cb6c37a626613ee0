/*
 * heartbeat.c - heartbeats (paper section 2.4.2, Algorithms 4 and 5) and which
 * nodes missed one (2.4.3): a strobe, then COMPARE-AND-WRITE on the number of
 * the last strobe that each node has received.
 *
 * Departures.  Algorithm 4 puts the heartbeat into a remote queue, where one
 * slow node delays the next heartbeat of all.  A strobe is not queued: it
 * describes the current state, and the next one replaces it.  COMPARE-AND-WRITE
 * names the nodes that do not answer.  Nodes that answer but missed the strobe
 * are found by halving the set.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "src/libstorm/base/idset.h"
#include "src/libstorm/program/domain_private.h"

/* A search: its question, and its results so far. */
struct heartbeat_search {
	storm_domain_t *d;
	uint64_t number;
	struct storm_idset *missed;
	struct storm_idset mute;  /* nodes that do not answer */
	struct storm_outcome why; /* their faults */
};

/* The n-th id of s. */
static uint32_t heartbeat_nth(const struct storm_idset *s, uint64_t n)
{
	uint32_t i = 0;

	while (n > s->r[i].last - s->r[i].first) {
		n -= (uint64_t) s->r[i].last - s->r[i].first + 1;
		i++;
	}
	return s->r[i].first + (uint32_t) n;
}

/* The ids of s from first to last. */
static int heartbeat_part(const struct storm_idset *s, uint32_t first,
			  uint32_t last, struct storm_idset *out)
{
	struct storm_range r = { first, last };
	const struct storm_idset span = { &r, 1, 1 };
	int err = storm_idset_union(out, s);

	return err ? err : storm_idset_keep(out, &span);
}

/* Record the nodes that did not answer, and ask them no more. */
static int heartbeat_name_mute(struct heartbeat_search *s,
			       const struct storm_outcome *out)
{
	struct storm_outcome *w = &s->why;
	uint64_t knew = storm_idset_size(&s->mute);
	uint32_t n = out->faults_kept;
	struct storm_fault *f;

	if (!n)
		return STORM_ECLOSED;
	f = realloc(w->faults, (w->nfaults + n) * sizeof(*f));
	if (!f)
		return STORM_ENOMEM;
	w->faults = f;
	for (uint32_t i = 0; i < n; i++) {
		if (storm_idset_add(&s->mute, out->faults[i].node,
				    out->faults[i].node))
			return STORM_ENOMEM;
		f[w->nfaults++] = out->faults[i];
	}
	w->faults_kept = w->nfaults;
	return storm_idset_size(&s->mute) > knew ? STORM_OK : STORM_ECLOSED;
}

static int heartbeat_ask(struct heartbeat_search *s,
			 const struct storm_idset *p,
			 enum storm_compare *result)
{
	struct storm_outcome out = { 0 };
	int err = STORM_OK;

	*result = storm_compare_and_write(s->d, p, STORM_VAR_HEARTBEAT,
					  STORM_GE, s->number, NULL, &out);
	if (*result == STORM_FAILED)
		err = heartbeat_name_mute(s, &out);
	storm_outcome_clear(&out);
	return err;
}

static int heartbeat_halve(struct heartbeat_search *s,
			   const struct storm_idset *p);

/* A node of p has missed the strobe, or p has not been asked yet. */
static int heartbeat_split(struct heartbeat_search *s,
			   const struct storm_idset *p)
{
	uint64_t half = storm_idset_size(p) / 2;
	struct storm_idset low = { 0 }, high = { 0 };
	int err;

	if (!half)
		return storm_idset_union(s->missed, p);
	err = heartbeat_part(p, 0, heartbeat_nth(p, half - 1), &low);
	if (!err)
		err = heartbeat_part(p, heartbeat_nth(p, half), UINT32_MAX,
				     &high);
	if (!err)
		err = heartbeat_halve(s, &low);
	if (!err)
		err = heartbeat_halve(s, &high);
	storm_idset_clear(&low);
	storm_idset_clear(&high);
	return err;
}

static int heartbeat_halve(struct heartbeat_search *s,
			   const struct storm_idset *p)
{
	enum storm_compare c = STORM_FAILED;
	struct storm_idset left = { 0 };
	int err = storm_idset_minus(p, &s->mute, &left);

	/* every failed question names at least one more node */
	while (!err && left.count && left.count <= STORM_SET_RANGES &&
	       c == STORM_FAILED) {
		err = heartbeat_ask(s, &left, &c);
		if (c != STORM_FAILED)
			break;
		storm_idset_clear(&left);
		if (!err)
			err = storm_idset_minus(p, &s->mute, &left);
	}
	if (!err && left.count && c != STORM_TRUE)
		err = heartbeat_split(s, &left);
	storm_idset_clear(&left);
	return err;
}

int storm_heartbeat(storm_domain_t *d, const struct storm_idset *P,
		    const void *data, size_t len, uint64_t *number,
		    struct storm_idset *missed, struct storm_outcome *out)
{
	struct heartbeat_search s = { .d = d, .missed = missed };
	struct storm_idset p = { 0 };
	int err;

	*missed = (struct storm_idset) { 0 };
	if (out)
		*out = (struct storm_outcome) { 0 };
	if (len > STORM_STROBE_MAX)
		return STORM_EINVAL;
	err = domain_nodes(d, P, &p);
	if (!err && !(s.number = storm_strobe(d, data, len)))
		err = STORM_ECLOSED;
	if (!err && number)
		*number = s.number;
	if (!err)
		err = heartbeat_halve(&s, &p);
	if (!err)
		err = s.why.nfaults ? (int) s.why.faults[0].why :
		      missed->count ? STORM_ETIME :
				      STORM_OK;
	s.why.state = s.why.nfaults ? STORM_ABORTED : STORM_DONE;
	if (out)
		*out = s.why;
	else
		storm_outcome_clear(&s.why);
	storm_idset_clear(&s.mute);
	storm_idset_clear(&p);
	return err;
}
