/*
 * conf_read.c - read and judge storm.conf: see conf_read.h.
 *
 * conf_file.c and conf_plugstack.c read the lines.  conf_keys.c has the keys and
 * checks each value.  This file checks which values suit each other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "conf_file.h"
#include "conf_keys.h"
#include "conf_partition.h"
#include "conf_plugstack.h"
#include "conf_read.h"
#include "conf_text.h"
#include "src/libstorm/base/clock.h"

bool storm_conf_gives_way(const struct storm_gang_conf *g)
{
	for (uint32_t i = 0; i < g->partitions; i++)
		if (g->partition[i].turns &&
		    g->partition[i].policy != GANG_POLICY_GANG)
			return true;
	return false;
}

uint32_t storm_conf_weight(const struct storm_gang_conf *g, const char *qos)
{
	for (uint32_t i = 0; qos && i < g->qoses; i++)
		if (!strcasecmp(g->qos[i].name, qos))
			return g->qos[i].weight;
	return 1;
}

const struct storm_conf_partition *
storm_conf_partition(const struct storm_gang_conf *g, const char *name)
{
	for (uint32_t i = 0; i < g->partitions; i++)
		if (!strcmp(g->partition[i].name, name))
			return &g->partition[i];
	return NULL;
}

/* The default groups of steps: next to those of the agents (settings.c), in the
 * same scope.  The second one is for a site that has its agents' groups
 * there. */
#define CONTEXT_GROUPS 0xefc30000      /* 239.195.0.0 */
#define CONTEXT_GROUPS_ELSE 0xefc20000 /* 239.194.0.0 */

void storm_conf_default(struct storm_conf *out)
{
	memset(out, 0, sizeof(*out));
	storm_settings_default(&out->set);
	out->set.pulse = 25 * STORM_MS;
	out->fallback = FALLBACK_NODES;
	out->odd_max = 10;
	out->odd_percent = true;
	out->launch_nodes = 12; /* doc/performance.md, Steps without a file */
	out->agent_linger = 30 * STORM_SEC;
	out->launcher_idle = 600 * STORM_SEC;
	/* above ip_local_port_range, and above the SrunPortRange that is
	 * slurm.conf(5)'s example */
	out->launcher_port_first = 63001;
	out->launcher_port_last = 65000;
	out->gang.quantum = 50 * STORM_MS;
	out->gang.cluster = true;
	out->gang.act_after = 5 * STORM_SEC;
	out->gang_debug = true;
	out->health.period = 60 * STORM_SEC;
	out->health.space = 64 << 20;
	out->health.inodes = 1000;
	out->health.memory = 64 << 20;
	out->health.timeout = 60 * STORM_SEC;
	strcpy(out->health.paths, "/tmp");
	out->context.group = CONTEXT_GROUPS;
	out->context.count = 65536;
	out->context.per_user = 16384;
}

bool storm_conf_is_agents(const struct storm_conf *a,
			  const struct storm_conf *b)
{
	return memcmp(&a->set, &b->set, sizeof(a->set)) || a->log != b->log ||
	       strcmp(a->allow_users, b->allow_users) ||
	       strcmp(a->allow_hosts, b->allow_hosts) ||
	       strcmp(a->freezer, b->freezer) ||
	       a->gang_debug != b->gang_debug ||
	       a->gang_yield != b->gang_yield ||
	       storm_conf_gives_way(&a->gang) !=
		       storm_conf_gives_way(&b->gang) ||
	       !CPU_EQUAL(&a->agent_cpus, &b->agent_cpus) ||
	       a->agent_linger != b->agent_linger ||
	       memcmp(&a->health, &b->health, sizeof(a->health));
}

/* ---------------------------------------------------------- consistency --- */

/* A key's value and place in the file; the last one counts. */
struct conf_given {
	char *value; /* NULL: not given */
	char *place; /* file:line */
	unsigned int order;
};

struct conf_load {
	const char *path;
	struct storm_conf conf;
	struct conf_given given[CONF_KEYS_MAX]; /* by key */
	struct conf_partitions partitions;
	bool in_plugstack;
	unsigned int lines; /* with a known key */
	unsigned int below; /* so many of them, storm.conf may override */
	unsigned int errors;
	conf_fault_fn told;
	void *arg;
};

/* "file:line" of the first of these keys that is given, else "file". */
static const char *conf_place_of(const struct conf_load *l,
				 const char *const *key)
{
	for (; *key; key++)
		if (l->given[conf_key_find(*key)].place)
			return l->given[conf_key_find(*key)].place;
	return l->path;
}
#define PLACE(l, ...) \
	conf_place_of(l, (const char *const[]) { __VA_ARGS__, NULL })

/* The error for a key of the strobe rail if there is no such rail. */
static char *conf_no_strobe_rail(const struct conf_load *l, const char *key)
{
	return conf_text_make(
		"%s: %s has no effect without StrobeRail: set StrobeRail to a device, or remove %s",
		PLACE(l, key), key, key);
}

static char *conf_check_rails(const struct conf_load *l)
{
	const struct storm_settings *s = &l->conf.set;

	if (!s->strobe_device[0])
		return s->strobe_gid_index >= 0 ?
			       conf_no_strobe_rail(l, "StrobeGidIndex") :
		       s->strobe_pkey ? conf_no_strobe_rail(l, "StrobePKey") :
		       s->strobe_mtu  ? conf_no_strobe_rail(l, "StrobeMTU") :
					NULL;
	/* with UDP it is a network interface, which has no ports */
	if (s->transport == STORM_TRANSPORT_UDP && s->strobe_ib_port)
		return conf_text_make(
			"%s: StrobeRail=%s:%u has a port, which only RDMA devices have: name a network interface, or set Transport=verbs",
			PLACE(l, "StrobeRail"), s->strobe_device,
			s->strobe_ib_port);
	return NULL;
}

static uint32_t conf_agents_group(const struct storm_settings *s)
{
	return (uint32_t) s->group.ip[12] << 24 | s->group.ip[13] << 16 |
	       s->group.ip[14] << 8 | s->group.ip[15];
}

/* With verbs each group has a second one, for bulk data. */
static uint32_t conf_agents_groups(const struct storm_settings *s)
{
	return s->transport == STORM_TRANSPORT_VERBS ? 2 * s->groups :
						       s->groups;
}

/* All nodes join the agents' groups, so no step may send to these. */
static bool conf_groups_overlap(const struct storm_conf *c, uint32_t steps)
{
	uint32_t agents = conf_agents_group(&c->set);

	return agents < steps + c->context.count &&
	       steps < agents + conf_agents_groups(&c->set);
}

static char *conf_check_groups(const struct conf_load *l)
{
	const struct storm_settings *s = &l->conf.set;
	const struct storm_context_conf *x = &l->conf.context;
	uint32_t base = conf_agents_group(s);

	if (!IN_MULTICAST(base + conf_agents_groups(s) - 1))
		return conf_text_make(
			"%s: GroupCount=%u groups from GroupBase reach beyond the multicast addresses: choose a lower GroupBase",
			PLACE(l, "GroupBase", "GroupCount"), s->groups);
	if (!x->count)
		return NULL;
	if (!IN_MULTICAST(x->group + x->count - 1))
		return conf_text_make(
			"%s: ContextCount=%u groups from ContextGroupBase reach beyond the multicast addresses: choose a lower ContextGroupBase",
			PLACE(l, "ContextGroupBase", "ContextCount"), x->count);
	if (conf_groups_overlap(&l->conf, x->group))
		return conf_text_make(
			"%s: the groups of steps (ContextCount=%u from ContextGroupBase) and those of the agents (GroupCount=%u from GroupBase) overlap: move ContextGroupBase or GroupBase",
			PLACE(l, "ContextGroupBase", "GroupBase",
			      "ContextCount", "GroupCount"),
			x->count, s->groups);
	return NULL;
}

static char *conf_check_policies(const struct conf_load *l)
{
	const struct storm_gang_conf *g = &l->conf.gang;

	for (uint32_t i = 0; i < g->partitions; i++) {
		const struct storm_conf_partition *p = &g->partition[i];

		if (p->local && p->turns)
			return conf_text_make(
				"%s: partition %s is local, and has the policy %s: keep one of both in PartitionPolicy and LocalPartitions",
				PLACE(l, "PartitionPolicy"), p->name,
				gang_policy_name(p->policy));
	}
	return NULL;
}

static char *conf_check_timeouts(const struct conf_load *l)
{
	const struct storm_settings *s = &l->conf.set;

	if (s->dead_timeout >= 2 * s->heartbeat)
		return NULL;
	return conf_text_make(
		"%s: DeadTimeout (%lu ms) must be at least twice Heartbeat (%lu ms), or a single lost datagram looks like death",
		PLACE(l, "DeadTimeout", "Heartbeat"),
		(unsigned long) (s->dead_timeout / STORM_MS),
		(unsigned long) (s->heartbeat / STORM_MS));
}

/* ------------------------------------------------------------- the file --- */

/* Report a fault, and free its text.  NULL: there is none. */
static void conf_report(struct conf_load *l, enum conf_fault kind, char *text)
{
	if (!text)
		return;
	l->errors += kind == CONF_ERROR;
	if (l->told)
		l->told(l->arg, kind, text);
	free(text);
}

static void conf_partition_fault(void *arg, bool error, char *text)
{
	conf_report(arg, error ? CONF_ERROR : CONF_WARNING, text);
}

static void conf_wrong_line(void *arg, const char *text)
{
	conf_report(arg, CONF_ERROR, conf_text_make("%s", text));
}

static void conf_unknown_key(struct conf_load *l, const char *place,
			     const char *name)
{
	const char *meant = conf_key_meant(name);
	char *text;

	if (conf_partition_key_find(name) >= 0)
		text = conf_text_make(
			"%s: unknown key '%.60s' has no effect: write it behind Partition=NAME on one line",
			place, name);
	else if (meant)
		text = conf_text_make(
			"%s: unknown key '%.60s' has no effect: did you mean %s?",
			place, name, meant);
	else
		text = conf_text_make(
			"%s: unknown key '%.60s' has no effect: see storm.conf(5), or remove the line",
			place, name);
	conf_report(l, CONF_WARNING, text);
}

static bool conf_is_partition(const char *name)
{
	return !strcasecmp(name, CONF_PARTITION);
}

/* A misspelt Partition, too: then the line has no effect. */
static bool conf_takes_more(void *arg, const char *name)
{
	const char *meant = conf_key_find(name) < 0 ? conf_key_meant(name) :
						      name;

	return meant && conf_is_partition(meant);
}

static void conf_take_partition(struct conf_load *l, const char *place,
				const char *name)
{
	if (l->in_plugstack)
		conf_report(
			l, CONF_ERROR,
			conf_text_make(
				"%s: Partition=%.60s has no place here: write the partition's line in storm.conf",
				place, name));
	else
		conf_partition_begin(&l->partitions, place, name);
}

static void conf_take_key(void *arg, const char *place, const char *name,
			  const char *value)
{
	struct conf_load *l = arg;
	int key = conf_key_find(name);
	struct conf_given *g;

	l->partitions.at = NULL;
	if (key < 0) {
		conf_unknown_key(l, place, name);
		return;
	}
	if (conf_is_partition(name)) {
		conf_take_partition(l, place, value);
		return;
	}
	g = &l->given[key];
	if (g->value && g->order > l->below)
		conf_report(
			l, CONF_WARNING,
			conf_text_make(
				"%s: %s overrides the value at %s: remove one of them",
				place, conf_key_name(key), g->place));
	free(g->value);
	free(g->place);
	g->value = conf_text_make("%s", value);
	g->place = conf_text_make("%s", place);
	g->order = ++l->lines;
}

/* A key that follows Partition=NAME. */
static void conf_take_more(void *arg, const char *place, const char *name,
			   const char *value)
{
	struct conf_load *l = arg;
	int key = conf_partition_key_find(name);

	if (!l->partitions.at)
		return;
	if (key >= 0)
		conf_partition_more(&l->partitions, key, value);
	else
		conf_report(
			l, CONF_WARNING,
			conf_text_make(
				"%s: unknown key '%.60s' of Partition=%s has no effect: %s",
				place, name, l->partitions.at->name,
				conf_key_find(name) < 0 ?
					"write Policy, Quantum or LimitByTurns, or remove it" :
					"write it on a line of its own"));
}

static void conf_set_key(struct conf_load *l, unsigned int key)
{
	const struct conf_given *g = &l->given[key];
	char *allowed;

	if (conf_key_set(key, &l->conf, g->value))
		return;
	allowed = conf_key_allowed(key);
	conf_report(l, CONF_ERROR,
		    conf_text_make("%s: %s=%.200s is invalid, allowed: %s",
				   g->place, conf_key_name(key), g->value,
				   allowed));
	free(allowed);
}

/* In the order of the lines, so that faults are. */
static void conf_set_keys(struct conf_load *l)
{
	for (unsigned int line = 1; line <= l->lines; line++)
		for (unsigned int key = 0; conf_key_name(key); key++)
			if (l->given[key].order == line)
				conf_set_key(l, key);
	l->conf.set.group.port = l->conf.set.port;
	if (!l->conf.context.group)
		l->conf.context.group =
			conf_groups_overlap(&l->conf, CONTEXT_GROUPS) ?
				CONTEXT_GROUPS_ELSE :
				CONTEXT_GROUPS;
}

static char *conf_all_lines(const struct conf_load *l)
{
	char *text = conf_text_make("%s", "");

	for (unsigned int key = 0; conf_key_name(key); key++)
		if (l->given[key].value) {
			conf_text_add_pair(&text, conf_key_name(key),
					   l->given[key].value);
			conf_text_add(&text, "\n");
		}
	conf_partition_add_lines(&l->partitions, &text);
	return text;
}

/* ---------------------------------------------- partitions, the old form --- */

/* The keys of the old form that are given, "A, B", and the first one's place.
 * NULL: none. */
static char *conf_old_keys(const struct conf_load *l, const char **place)
{
	char *names = NULL;

	for (unsigned int key = 0; conf_key_name(key); key++) {
		if (!conf_key_is_old(key) || !l->given[key].value)
			continue;
		if (!names)
			*place = l->given[key].place;
		conf_text_add(&names, "%s%s", names ? ", " : "",
			      conf_key_name(key));
	}
	return names;
}

/* No partition of Slurm's has such a name. */
static bool conf_names_none(const char *name)
{
	return !strcasecmp(name, "DEFAULT") || strchr(name, '"');
}

/* The lines that say the same. */
static char *conf_new_lines(const struct storm_gang_conf *g)
{
	char *lines = NULL;

	for (uint32_t i = 0; i < g->partitions; i++)
		if (!g->partition[i].place[0] &&
		    !conf_names_none(g->partition[i].name))
			conf_partition_add_entry(&g->partition[i], &lines);
	return lines;
}

/* Those of the first `old` entries that a line has replaced: "NAME, NAME". */
static char *conf_replaced(const struct storm_gang_conf *g, uint32_t old)
{
	char *names = NULL;

	for (uint32_t i = 0; i < old; i++)
		if (g->partition[i].place[0])
			conf_text_add(&names, "%s%s", names ? ", " : "",
				      g->partition[i].name);
	return names;
}

/* There is no place for the lines. */
static bool conf_old_in_plugstack(const struct conf_load *l)
{
	for (unsigned int key = 0; conf_key_name(key); key++)
		if (conf_key_is_old(key) && l->given[key].value &&
		    l->given[key].order <= l->below)
			return true;
	return false;
}

static char *conf_old_form(const struct conf_load *l, uint32_t old)
{
	const struct storm_gang_conf *g = &l->conf.gang;
	const char *place = NULL;
	char *keys = conf_old_keys(l, &place), *lines, *replaced, *text = NULL;

	if (!keys)
		return NULL;
	lines = conf_new_lines(g);
	replaced = conf_replaced(g, old);
	conf_text_add(&text, "%s: the next version does not read %s", place,
		      keys);
	if (replaced)
		conf_text_add(
			&text,
			"; for partitions with a line of their own (%s) the line counts",
			replaced);
	if (lines) {
		lines[strlen(lines) - 1] = '\0'; /* the last one's end */
		conf_text_add(
			&text, ": %s:\n%s",
			conf_old_in_plugstack(l) ?
				"remove these keys, and write in storm.conf on slurmctld's host" :
				"write in place of these keys",
			lines);
	} else {
		conf_text_add(&text, ": remove these keys");
	}
	free(keys);
	free(lines);
	free(replaced);
	return text;
}

/* ------------------------------------------------------------- the whole --- */

static void conf_read_sources(struct conf_load *l,
			      const struct conf_sources *from)
{
	const struct conf_file_calls calls = { .key_found = conf_take_key,
					       .takes_more = conf_takes_more,
					       .more_found = conf_take_more,
					       .wrong = conf_wrong_line,
					       .arg = l };

	l->in_plugstack = true;
	if (from->plugstack)
		conf_plugstack_read(from->plugstack, &calls);
	l->in_plugstack = false;
	l->below = l->lines;
	if (from->text)
		conf_file_read_text(from->path, from->text, &calls);
	else if (from->path)
		conf_file_read(from->path, &calls);
}

bool conf_read(const struct conf_sources *from, struct storm_conf *out,
	       char **lines, conf_fault_fn told, void *arg)
{
	struct conf_load l = { .path = from->path ? from->path :
						    from->plugstack,
			       .told = told,
			       .arg = arg };
	uint32_t old;

	l.partitions.fault = conf_partition_fault;
	l.partitions.arg = &l;
	storm_conf_default(&l.conf);
	l.conf.context.group = 0; /* not given */
	conf_read_sources(&l, from);
	conf_set_keys(&l);
	old = l.conf.gang.partitions;
	conf_partition_set(&l.partitions, &l.conf.gang);
	if (!l.errors) { /* else these would be judged by their defaults */
		conf_report(&l, CONF_ERROR, conf_check_groups(&l));
		conf_report(&l, CONF_ERROR, conf_check_timeouts(&l));
		conf_report(&l, CONF_ERROR, conf_check_rails(&l));
		conf_report(&l, CONF_ERROR, conf_check_policies(&l));
	}
	if (!l.errors) {
		conf_partition_check(&l.partitions, &l.conf.gang);
		conf_report(&l, CONF_OLD, conf_old_form(&l, old));
	}
	if (!l.errors && lines)
		*lines = conf_all_lines(&l);
	conf_partition_free(&l.partitions);
	for (unsigned int key = 0; conf_key_name(key); key++) {
		free(l.given[key].value);
		free(l.given[key].place);
	}
	if (!l.errors)
		*out = l.conf;
	return !l.errors;
}
