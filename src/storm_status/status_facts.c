/*
 * status_facts.c - see status_facts.h.
 *
 * Values are other hosts' words: what is not printable ASCII becomes '?'.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/shown.h"
#include "src/storm_check/check_tell.h"
#include "src/storm_common/state_keys.h"
#include "status_facts.h"

#define MTU 1500 /* no path is tried, so no verdict needs it */

static struct status_word status_printed(const uint8_t *from, unsigned int len)
{
	struct status_word w = { 0 };

	for (unsigned int i = 0; i < len && i < STORM_GATHER_DATA; i++)
		w.text[i] = storm_printed((char) from[i]);
	return w;
}

struct status_word status_word_of(const struct storm_gather_entry *e)
{
	return status_printed(e->value, e->value_len);
}

struct status_word status_key_of(const struct storm_gather_entry *e)
{
	return status_printed(e->key, e->key_len);
}

bool status_is_key(const struct storm_gather_entry *e, const char *key)
{
	return e->key_len == strlen(key) && !memcmp(e->key, key, e->key_len);
}

bool status_is_value(const struct storm_gather_entry *e, const char *key)
{
	return e->kind == STORM_GATHER_VALUE && status_is_key(e, key);
}

const struct storm_gather_entry *status_counter(const struct status_answer *a,
						const char *key)
{
	for (uint32_t i = 0; i < a->table.count; i++)
		if (a->table.entry[i].kind == STORM_GATHER_COUNTER &&
		    status_is_key(&a->table.entry[i], key))
			return &a->table.entry[i];
	return NULL;
}

bool status_is_fallback(const struct storm_gather_entry *e)
{
	const size_t len = strlen(STATE_FALLBACK);

	return e->kind == STORM_GATHER_COUNTER && e->key_len > len &&
	       !memcmp(e->key, STATE_FALLBACK, len);
}

uint64_t status_fallbacks(const struct status_answer *a)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < a->table.count; i++)
		if (status_is_fallback(&a->table.entry[i]))
			sum += a->table.entry[i].sum;
	return sum;
}

uint32_t status_builds(const struct status_answer *a)
{
	uint32_t builds = 0;

	for (uint32_t i = 0; i < a->table.count; i++)
		builds += status_is_value(&a->table.entry[i], STATE_BUILD);
	return builds;
}

uint64_t status_epoch_of(const struct storm_gather_entry *e)
{
	return strtoull(status_word_of(e).text, NULL, 10);
}

uint64_t status_epoch(const struct status_answer *a, uint64_t most)
{
	uint64_t newest = 0;

	for (uint32_t i = 0; i < a->table.count; i++) {
		const struct storm_gather_entry *e = &a->table.entry[i];
		uint64_t epoch = 0;

		if (status_is_value(e, STATE_EPOCH))
			epoch = status_epoch_of(e);
		if (epoch > newest && epoch <= most)
			newest = epoch;
	}
	return newest;
}

bool status_anew(uint64_t was, uint64_t is, uint64_t agents, int64_t ms)
{
	const uint64_t grown = ms > 0 ? (uint64_t) ms * agents / 1000 : 0;

	return is < was + grown;
}

const char *status_name(const struct status_nodes *n,
			const struct status_answer *a, uint32_t asked)
{
	return asked < a->count ? n->node[a->asked[asked]].name : "?";
}

const char *status_first_name(const struct status_nodes *n,
			      const struct status_answer *a,
			      const struct storm_gather_entry *e)
{
	return e->nodes.count ? status_name(n, a, e->nodes.r[0].first) : "?";
}

char *status_names_of(const struct status_nodes *n,
		      const struct status_answer *a,
		      const struct storm_idset *set)
{
	const char **name = calloc(a->count + 1, sizeof(*name));
	size_t count = 0;
	char *text;

	for (uint32_t i = 0; name && i < a->count; i++)
		if (storm_idset_has(set, i))
			name[count++] = n->node[a->asked[i]].name;
	text = name ? check_names(name, count) : NULL;
	free(name);
	return text;
}

/* ---------------------------------------------------------------- what is wrong --- */

uint32_t status_silent(const struct status_nodes *n)
{
	uint32_t silent = 0;

	for (uint32_t i = 0; i < n->count; i++)
		silent += n->node[i].silent;
	return silent;
}

bool status_is_fine(const struct storm_gather_entry *e)
{
	struct status_word w = status_word_of(e);

	if (status_is_key(e, STATE_HEALTH))
		return !strcmp(w.text, STATE_WELL);
	if (status_is_key(e, STATE_GANG))
		return !strcmp(w.text, STATE_GANG_IN) ||
		       !strcmp(w.text, STATE_GANG_OUT);
	return !status_is_key(e, STATE_SLURMD);
}

bool status_is_wrong(const struct status_nodes *n,
		     const struct status_answer *a)
{
	if (status_silent(n) || status_builds(a) > 1)
		return true;
	for (uint32_t i = 0; i < a->table.count; i++) {
		const struct storm_gather_entry *e = &a->table.entry[i];

		if (e->kind == STORM_GATHER_REST ||
		    (e->kind == STORM_GATHER_VALUE && !status_is_fine(e)))
			return true;
	}
	return false;
}

/* Why a silent node is (free). */
static char *status_why(const struct status_node *node, uint16_t port)
{
	char *text =
		node->got.why == STORM_EINVAL ?
			strdup("Slurm has no address for it: correct the name, or slurm.conf") :
			check_verdict(&node->got, port, MTU);

	return text ? text : strdup("?");
}

void status_each_silent(const struct status_nodes *n, uint16_t port,
			void (*tell)(void *arg, const char *names,
				     const char *why),
			void *arg)
{
	char **why = calloc(n->count + 1, sizeof(*why));
	const char **name = calloc(n->count + 1, sizeof(*name));

	for (uint32_t i = 0; why && name && i < n->count; i++)
		if (n->node[i].silent)
			why[i] = status_why(&n->node[i], port);
	for (uint32_t i = 0; why && name && i < n->count; i++) {
		char *one = why[i], *names;
		size_t count = 0;

		if (!one)
			continue;
		for (uint32_t k = i; k < n->count; k++) {
			if (!why[k] || strcmp(why[k], one))
				continue;
			name[count++] = n->node[k].name;
			if (k > i)
				free(why[k]);
			why[k] = NULL;
		}
		names = check_names(name, count);
		tell(arg, names ? names : "?", one);
		free(names);
		free(one);
	}
	free(why);
	free(name);
}
