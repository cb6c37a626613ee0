/*
 * top_rates.c - see top_rates.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "src/libstorm/base/units.h"
#include "src/storm_common/state_keys.h"
#include "top_rates.h"

static const struct {
	const char *key, *name;
} counters[TOP_COUNTS] = {
	[TOP_STEPS] = { STATE_STEPS, "steps" },
	[TOP_FALLBACKS] = { NULL, "fallbacks" },
	[TOP_LAUNCHES] = { STATE_LAUNCHES, "launches" },
	[TOP_LAUNCHES_FAILED] = { STATE_LAUNCHES_FAILED, "launches_failed" },
	[TOP_FILES] = { STATE_FILES, "files" },
	[TOP_FILES_FAILED] = { STATE_FILES_FAILED, "files_failed" },
	[TOP_BYTES] = { STATE_BYTES, "bytes" },
	[TOP_SIGNALS] = { STATE_SIGNALS, "signals" },
	[TOP_REPAIRED] = { STATE_REPAIRED, "repaired" },
};

const char *top_count_name(enum top_count c)
{
	return counters[c].name;
}

/* FNV-1a of the nodes that are not silent. */
static uint64_t top_digest(const struct status_nodes *n)
{
	uint64_t h = 0xcbf29ce484222325;

	for (uint32_t i = 0; i < n->count; i++)
		h = (h ^ n->node[i].silent) * 0x100000001b3;
	return h;
}

void top_counts_of(const struct status_nodes *n, const struct status_answer *a,
		   uint64_t began, uint64_t at, struct top_counts *out)
{
	const struct storm_gather_entry *age = status_counter(a, STATE_AGE);

	*out = (struct top_counts) { .seen = age,
				     .began = began,
				     .at = at,
				     .who = top_digest(n),
				     .agents = age ? age->count : 0,
				     .age = age ? age->sum : 0 };
	for (int i = 0; i < TOP_COUNTS; i++) {
		const struct storm_gather_entry *e =
			counters[i].key ? status_counter(a, counters[i].key) :
					  NULL;

		out->sum[i] = e ? e->sum : 0;
	}
	out->sum[TOP_FALLBACKS] = status_fallbacks(a);
}

/* An age is in whole seconds. */
static bool top_anew(const struct top_counts *before,
		     const struct top_counts *now)
{
	const int64_t ns = (int64_t) (now->began - before->at - STORM_SEC);

	return now->agents != before->agents ||
	       status_anew(before->age, now->age, now->agents,
			   ns / (int64_t) STORM_MS);
}

void top_rates_of(const struct top_counts *before, const struct top_counts *now,
		  struct top_rates *out)
{
	memset(out, 0, sizeof(*out));
	if (!before->seen || !now->seen || before->who != now->who ||
	    now->at <= before->at || top_anew(before, now))
		return;
	for (int i = 0; i < TOP_COUNTS; i++) {
		if (now->sum[i] < before->sum[i])
			return;
		out->per_second[i] = (double) (now->sum[i] - before->sum[i]) /
				     ((double) (now->at - before->at) / 1e9);
	}
	out->known = true;
}
