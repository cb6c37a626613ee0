/*
 * conf_partition.c - partitions in storm.conf: see conf_partition.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf_partition.h"
#include "conf_text.h"
#include "conf_value.h"
#include "gang_map.h"
#include "src/libstorm/base/clock.h"

/* ----------------------------------------------------------- the values --- */

static bool conf_partition_policy(struct storm_conf_partition *p,
				  const char *value)
{
	p->local = !strcasecmp(value, "local");
	p->policy = p->local ? GANG_POLICY_GANG : gang_policy_find(value);
	p->turns = !p->local && p->policy < GANG_POLICIES;
	return p->local || p->turns;
}

static bool conf_partition_quantum(struct storm_conf_partition *p,
				   const char *value)
{
	return conf_parse_time(value, &p->quantum) &&
	       p->quantum >= GANG_QUANTUM_MIN && p->quantum <= GANG_QUANTUM_MAX;
}

static bool conf_partition_limit(struct storm_conf_partition *p,
				 const char *value)
{
	static const char *const words[] = { "no", "yes", NULL };
	uint64_t yes;

	if (!conf_parse_choice(words, value, &yes))
		return false;
	p->limit_by_turns = yes;
	return true;
}

/* testsuite/unit/man_complete reads the names. */
static const struct {
	const char *name, *allowed;
	bool (*set)(struct storm_conf_partition *p, const char *value);
} keys[CONF_PARTITION_KEYS] = {
	[CONF_POLICY] = { "Policy", "gang, flexible, yield or local",
			  conf_partition_policy },
	[CONF_QUANTUM] = { "Quantum",
			   "a time from 100us to 600s; a number without a unit is in milliseconds",
			   conf_partition_quantum },
	[CONF_LIMIT] = { "LimitByTurns", "yes or no", conf_partition_limit },
};

int conf_partition_key_find(const char *name)
{
	for (int i = 0; i < CONF_PARTITION_KEYS; i++)
		if (!strcasecmp(keys[i].name, name))
			return i;
	return -1;
}

/* ------------------------------------------------------------ the lines --- */

#define FAULT(p, error, ...) \
	(p)->fault((p)->arg, error, conf_text_make(__VA_ARGS__))

/* The refusal of a name, or NULL. */
static char *conf_partition_refusal(const struct conf_partitions *p,
				    const char *place, const char *name)
{
	const size_t max = sizeof(((struct storm_conf_partition *) 0)->name);

	if (!strcasecmp(name, "DEFAULT"))
		return conf_text_make(
			"%s: Partition=%s is slurm.conf's: here Quantum on a line of its own is the default; write a line for each other partition",
			place, name);
	if (strchr(name, ','))
		return conf_text_make(
			"%s: Partition=%.60s names several: write a line for each",
			place, name);
	if (!*name || strlen(name) >= max)
		return conf_text_make(
			"%s: Partition=%.200s is invalid, allowed: a partition's name, 1 to %zu characters",
			place, name, max - 1);
	if (p->lines == STORM_CONF_PARTITIONS)
		return conf_text_make(
			"%s: Partition=%.60s is one too many, after %d others: remove those that have the defaults",
			place, name, STORM_CONF_PARTITIONS);
	return NULL;
}

static void conf_partition_clear(struct conf_partition_line *l)
{
	for (int i = 0; i < CONF_PARTITION_KEYS; i++)
		free(l->value[i]);
	free(l->name);
	free(l->place);
	memset(l, 0, sizeof(*l));
}

static struct conf_partition_line *
conf_partition_line_of(struct conf_partitions *p, const char *name)
{
	for (unsigned int i = 0; i < p->lines; i++)
		if (!strcmp(p->line[i].name, name))
			return &p->line[i];
	return NULL;
}

void conf_partition_begin(struct conf_partitions *p, const char *place,
			  const char *name)
{
	struct conf_partition_line *l = conf_partition_line_of(p, name);
	char *why = l ? NULL : conf_partition_refusal(p, place, name);

	p->at = NULL;
	if (why) {
		p->fault(p->arg, true, why);
		return;
	}
	if (l) {
		FAULT(p, false,
		      "%s: Partition=%s overrides the line at %s: remove one of them",
		      place, name, l->place);
		conf_partition_clear(l);
	} else {
		l = &p->line[p->lines++];
	}
	l->name = conf_text_make("%s", name);
	l->place = conf_text_make("%s", place);
	p->at = l;
}

void conf_partition_more(struct conf_partitions *p, enum conf_partition_key key,
			 const char *value)
{
	struct conf_partition_line *l = p->at;

	if (l->value[key])
		FAULT(p, false,
		      "%s: Partition=%s has %s twice, and the last one counts: remove one of them",
		      l->place, l->name, keys[key].name);
	free(l->value[key]);
	l->value[key] = conf_text_make("%s", value);
}

static void conf_partition_set_line(struct conf_partitions *p,
				    const struct conf_partition_line *l,
				    struct storm_conf_partition *entry)
{
	size_t len = strlen(l->place), room = sizeof(entry->place) - 1;

	memset(entry, 0, sizeof(*entry));
	strcpy(entry->name, l->name);
	strcpy(entry->place, l->place + (len > room ? len - room : 0));
	for (int i = 0; i < CONF_PARTITION_KEYS; i++)
		if (l->value[i] && !keys[i].set(entry, l->value[i]))
			FAULT(p, true,
			      "%s: Partition=%s: %s=%.200s is invalid, allowed: %s",
			      l->place, l->name, keys[i].name, l->value[i],
			      keys[i].allowed);
}

void conf_partition_set(struct conf_partitions *p, struct storm_gang_conf *g)
{
	for (unsigned int i = 0; i < p->lines; i++) {
		const struct conf_partition_line *l = &p->line[i];
		struct storm_conf_partition *entry =
			conf_partition_entry(g, l->name);

		if (entry)
			conf_partition_set_line(p, l, entry);
		else
			FAULT(p, true,
			      "%s: Partition=%s is one too many: the keys of the old form name others; remove them, or what they name",
			      l->place, l->name);
	}
}

/* Whatever partition has nodes in common with it, its turns are no longer. */
static void conf_partition_check_yield(struct conf_partitions *p,
				       const struct conf_partition_line *l,
				       struct storm_gang_conf *g)
{
	const struct storm_conf_partition *entry =
		conf_partition_entry(g, l->name);
	uint64_t quantum = entry && entry->quantum ? entry->quantum :
						     g->quantum;

	if (entry && entry->turns && entry->policy == GANG_POLICY_YIELD &&
	    quantum < GANG_YIELD_MIN)
		FAULT(p, false,
		      "%s: Partition=%s: Policy=yield is as gang with a quantum below %llu ms: set Quantum=%llu or more",
		      l->place, l->name, GANG_YIELD_MIN / STORM_MS,
		      GANG_YIELD_MIN / STORM_MS);
}

void conf_partition_check(struct conf_partitions *p, struct storm_gang_conf *g)
{
	for (unsigned int i = 0; i < p->lines; i++) {
		const struct conf_partition_line *l = &p->line[i];
		int k = 0;

		while (k < CONF_PARTITION_KEYS && !l->value[k])
			k++;
		if (k == CONF_PARTITION_KEYS)
			FAULT(p, false,
			      "%s: Partition=%s sets nothing: add Policy, Quantum or LimitByTurns, or remove the line",
			      l->place, l->name);
		conf_partition_check_yield(p, l, g);
	}
}

void conf_partition_add_lines(const struct conf_partitions *p, char **text)
{
	for (unsigned int i = 0; i < p->lines; i++) {
		const struct conf_partition_line *l = &p->line[i];

		conf_text_add_pair(text, CONF_PARTITION, l->name);
		for (int k = 0; k < CONF_PARTITION_KEYS; k++) {
			if (!l->value[k])
				continue;
			conf_text_add(text, " ");
			conf_text_add_pair(text, keys[k].name, l->value[k]);
		}
		conf_text_add(text, "\n");
	}
}

void conf_partition_free(struct conf_partitions *p)
{
	for (unsigned int i = 0; i < p->lines; i++)
		conf_partition_clear(&p->line[i]);
	p->lines = 0;
	p->at = NULL;
}

/* ---------------------------------------------------------- the entries --- */

struct storm_conf_partition *conf_partition_entry(struct storm_gang_conf *g,
						  const char *name)
{
	struct storm_conf_partition *p = g->partition;

	for (uint32_t i = 0; i < g->partitions; i++, p++)
		if (!strcmp(p->name, name))
			return p;
	if (!*name || strlen(name) >= sizeof(p->name) ||
	    g->partitions == STORM_CONF_PARTITIONS)
		return NULL;
	g->partitions++;
	strcpy(p->name, name);
	return p;
}

/* To the nanosecond, so that nothing changes. */
static void conf_partition_add_time(uint64_t ns, char **text)
{
	if (ns % STORM_SEC == 0)
		conf_text_add(text, "%llus", ns / STORM_SEC);
	else if (ns % STORM_MS == 0)
		conf_text_add(text, "%llu", ns / STORM_MS);
	else if (ns % STORM_US == 0)
		conf_text_add(text, "%lluus", ns / STORM_US);
	else
		conf_text_add(text, "%llu.%03lluus", ns / STORM_US,
			      ns % STORM_US);
}

void conf_partition_add_entry(const struct storm_conf_partition *p, char **text)
{
	if (strpbrk(p->name, " \t\v\f\r#\\"))
		conf_text_add_pair(text, CONF_PARTITION, p->name);
	else
		conf_text_add(text, "Partition=%s", p->name);
	if (p->local || p->turns)
		conf_text_add(text, " Policy=%s",
			      p->local ? "local" : gang_policy_name(p->policy));
	if (p->quantum) {
		conf_text_add(text, " Quantum=");
		conf_partition_add_time(p->quantum, text);
	}
	if (p->limit_by_turns)
		conf_text_add(text, " LimitByTurns=yes");
	conf_text_add(text, "\n");
}
