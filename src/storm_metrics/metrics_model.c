/*
 * metrics_model.c - see metrics_model.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics_model.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_common/state_keys.h"
#include "src/storm_status/status_facts.h"

#define FOR_SLURM " for Slurm " /* AGENT_BUILD */
#define UNKNOWN "unknown"

static void metrics_build(struct metrics *out, const char *text,
			  uint32_t agents)
{
	const char *slurm = strstr(text, FOR_SLURM);
	struct metrics_build b = { .agents = agents };
	int len = slurm ? (int) (slurm - text) : (int) strlen(text);

	snprintf(b.version, sizeof(b.version), "%.*s", len, text);
	slurm = slurm ? slurm + strlen(FOR_SLURM) : "";
	snprintf(b.slurm, sizeof(b.slurm), "%s", *slurm ? slurm : UNKNOWN);
	/* different bytes may print alike, and a series must be there once */
	for (uint32_t i = 0; i < out->builds; i++) {
		struct metrics_build *is = &out->build[i];

		if (!strcmp(is->version, b.version) &&
		    !strcmp(is->slurm, b.slurm)) {
			is->agents += agents;
			return;
		}
	}
	if (out->builds < METRICS_BUILDS)
		out->build[out->builds++] = b;
	else
		out->other_builds += agents;
}

static void metrics_health(struct metrics *out, const char *word,
			   uint32_t agents)
{
	enum health_cause cause = HEALTH_WELL;

	if (!strcmp(word, STATE_WELL) || health_find(word, &cause))
		out->health[cause] += agents;
	else
		out->other_health += agents;
}

static void metrics_gang(struct metrics *out, const char *word, uint32_t agents)
{
	enum metrics_gang is =
		!strcmp(word, STATE_GANG_IN)	   ? METRICS_GANG_MEMBER :
		!strcmp(word, STATE_GANG_OUT)	   ? METRICS_GANG_NO_MEMBER :
		!strcmp(word, STATE_GANG_EXCLUDED) ? METRICS_GANG_EXCLUDED :
		!strcmp(word, STATE_GANG_SILENT)   ? METRICS_GANG_SILENT :
						     METRICS_GANG_LACKING;

	out->gang[is] += agents;
}

/* The last epoch, and how many nodes have heard another one. */
static void metrics_epochs(const struct status_answer *a, struct metrics *out)
{
	out->epoch = (uint32_t) status_epoch(a, UINT32_MAX);
	for (uint32_t i = 0; i < a->table.count; i++) {
		const struct storm_gather_entry *e = &a->table.entry[i];

		if (status_is_value(e, STATE_EPOCH) &&
		    status_epoch_of(e) <= UINT32_MAX &&
		    status_epoch_of(e) != out->epoch)
			out->behind += (uint32_t) storm_idset_size(&e->nodes);
	}
}

static void metrics_value(struct metrics *out, const char *key,
			  const char *text, uint32_t agents)
{
	double ms;

	if (!strcmp(key, STATE_BUILD)) {
		metrics_build(out, text, agents);
	} else if (!strcmp(key, STATE_HEALTH)) {
		metrics_health(out, text, agents);
	} else if (!strcmp(key, STATE_GANG)) {
		metrics_gang(out, text, agents);
	} else if (!strcmp(key, STATE_SLURMD)) {
		out->no_slurmd += agents;
	} else if (!strcmp(key, STATE_QUANTUM)) {
		ms = strtod(text, NULL);
		if (!(ms > 0 && ms < 3600e3))
			return;
		out->turning += agents;
		if (ms * STORM_MS > (double) out->quantum)
			out->quantum = (uint64_t) (ms * STORM_MS);
	}
}

static void metrics_fallback(struct metrics *out,
			     const struct storm_gather_entry *e)
{
	const size_t len = strlen(STATE_FALLBACK);
	enum fallback_cause cause = FALLBACK_OTHER;
	uint64_t *c;

	(void) fallback_find(status_key_of(e).text + len, &cause);
	c = &out->counter[METRICS_FALLBACK + cause];
	*c = e->sum > UINT64_MAX - *c ? UINT64_MAX : *c + e->sum;
}

static const struct {
	const char *key;
	enum metrics_counter is;
} metrics_sums[] = {
	{ STATE_STEPS, METRICS_STEPS },
	{ STATE_LAUNCHES, METRICS_LAUNCHES },
	{ STATE_LAUNCHES_FAILED, METRICS_LAUNCHES_FAILED },
	{ STATE_FILES, METRICS_FILES },
	{ STATE_FILES_FAILED, METRICS_FILES_FAILED },
	{ STATE_BYTES, METRICS_BYTES },
	{ STATE_SIGNALS, METRICS_SIGNALS },
	{ STATE_REPAIRED, METRICS_REPAIRED },
};
#define METRICS_SUMS (sizeof(metrics_sums) / sizeof(*metrics_sums))

static uint64_t metrics_sum(const struct status_answer *a, const char *key)
{
	const struct storm_gather_entry *e = status_counter(a, key);

	return e ? e->sum : 0;
}

/* One that each agent has. */
static uint64_t metrics_sum_of_all(const struct status_answer *a,
				   const char *key, struct metrics *out)
{
	const struct storm_gather_entry *e = status_counter(a, key);
	const bool full = e && e->count == out->up;

	out->shown |= full;
	out->whole &= full;
	return e ? e->sum : 0;
}

static void metrics_sums_read(const struct status_answer *a,
			      struct metrics *out)
{
	const struct storm_gather_entry *age = status_counter(a, STATE_AGE);
	uint64_t *const c = out->counter;
	char key[32];

	out->oldest = age ? age->max : 0;
	out->age = metrics_sum_of_all(a, STATE_AGE, out);
	for (size_t i = 0; i < METRICS_SUMS; i++)
		c[metrics_sums[i].is] =
			metrics_sum_of_all(a, metrics_sums[i].key, out);
	/* one agent counts a launch, and that it failed, at once */
	c[METRICS_LAUNCHES] -=
		storm_min(c[METRICS_LAUNCHES_FAILED], c[METRICS_LAUNCHES]);
	out->sessions = metrics_sum(a, STATE_SESSIONS);
	c[METRICS_TOOK_SUM] = metrics_sum(a, STATE_TOOK_SUM);
	/* a bucket that another version has is none of ours */
	for (unsigned int i = 0; i < LAUNCH_TOOKS; i++) {
		snprintf(key, sizeof(key), STATE_TOOK "%u", i);
		c[METRICS_TOOK + i] = metrics_sum(a, key);
	}
}

static void metrics_silent(const struct status_nodes *n, struct metrics *out)
{
	out->nodes = n->count;
	for (uint32_t i = 0; i < n->count; i++) {
		const struct status_node *node = &n->node[i];

		if (!node->silent)
			out->up++;
		else if (node->got.why == STORM_EINVAL)
			out->nowhere++;
		else
			out->silent[node->got.why ? fallback_of(node->got.why) :
						    FALLBACK_OTHER]++;
	}
}

void metrics_read(const struct status_nodes *n, const struct status_answer *a,
		  struct metrics *out)
{
	const uint64_t at = out->at, took = out->took;

	*out = (struct metrics) { .answered = true, .at = at, .took = took };
	metrics_silent(n, out);
	out->datagrams = a->stats.rx_datagrams;
	out->whole = true;
	for (uint32_t i = 0; i < a->table.count; i++) {
		const struct storm_gather_entry *e = &a->table.entry[i];
		const struct status_word key = status_key_of(e);

		switch (e->kind) {
		case STORM_GATHER_VALUE:
			metrics_value(out, key.text, status_word_of(e).text,
				      (uint32_t) storm_idset_size(&e->nodes));
			break;
		case STORM_GATHER_COUNTER:
			if (status_is_fallback(e))
				metrics_fallback(out, e);
			break;
		case STORM_GATHER_REST:
			if (!strcmp(key.text, STATE_BUILD))
				out->other_builds += (uint32_t) e->count;
			/* counters may be among these */
			out->whole &= e->key_len != 0;
		}
	}
	metrics_sums_read(a, out);
	metrics_epochs(a, out);
}

static int metrics_by_name(const void *x, const void *y)
{
	const char *const *a = x, *const *b = y;

	return strcmp(*a, *b);
}

char *metrics_names(const struct status_nodes *n)
{
	const char **name = calloc(n->count + 1, sizeof(*name));
	uint32_t count = 0;
	char *text = NULL;
	size_t len;
	FILE *f = name ? open_memstream(&text, &len) : NULL;

	for (uint32_t i = 0; f && i < n->count; i++)
		if (!n->node[i].silent)
			name[count++] = n->node[i].name;
	if (f)
		qsort(name, count, sizeof(*name), metrics_by_name);
	for (uint32_t i = 0; f && i < count; i++)
		fprintf(f, "%s\n", name[i]);
	free(name);
	if (f && fclose(f)) {
		free(text);
		text = NULL;
	}
	return text;
}
