/*
 * storm_conf.c - read storm.conf: see storm_conf.h.
 *
 * conf_file.c reads the lines.  conf_keys.c has the keys and checks each
 * value.  This file checks which values suit each other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/run_in_daemon.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "conf_file.h"
#include "conf_keys.h"
#include "src/libstorm/base/clock.h"

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
	out->fallback = FALLBACK_WARN;
	out->agent_linger = 30 * STORM_SEC;
	out->gang.quantum = 50 * STORM_MS;
	out->gang_debug = true;
	out->context.group = CONTEXT_GROUPS;
	out->context.count = 65536;
	out->context.per_user = 16384;
}

/* ---------------------------------------------------------- consistency --- */

/* A key's value and place in the file; the last one counts. */
struct conf_given {
	char *value; /* NULL: not given */
	char *place; /* file:line */
};

struct conf_load {
	const char *path;
	struct storm_conf conf;
	struct conf_given given[CONF_KEYS_MAX]; /* by key */
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
	return xstrdup_printf(
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
		return xstrdup_printf(
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
		return xstrdup_printf(
			"%s: GroupCount=%u groups from GroupBase reach beyond the multicast addresses: choose a lower GroupBase",
			PLACE(l, "GroupBase", "GroupCount"), s->groups);
	if (!x->count)
		return NULL;
	if (!IN_MULTICAST(x->group + x->count - 1))
		return xstrdup_printf(
			"%s: ContextCount=%u groups from ContextGroupBase reach beyond the multicast addresses: choose a lower ContextGroupBase",
			PLACE(l, "ContextGroupBase", "ContextCount"), x->count);
	if (conf_groups_overlap(&l->conf, x->group))
		return xstrdup_printf(
			"%s: the groups of steps (ContextCount=%u from ContextGroupBase) and those of the agents (GroupCount=%u from GroupBase) overlap: move ContextGroupBase or GroupBase",
			PLACE(l, "ContextGroupBase", "GroupBase",
			      "ContextCount", "GroupCount"),
			x->count, s->groups);
	return NULL;
}

static char *conf_check_timeouts(const struct conf_load *l)
{
	const struct storm_settings *s = &l->conf.set;

	if (s->dead_timeout >= 2 * s->heartbeat)
		return NULL;
	return xstrdup_printf(
		"%s: DeadTimeout (%lu ms) must be at least twice Heartbeat (%lu ms), or a single lost datagram looks like death",
		PLACE(l, "DeadTimeout", "Heartbeat"),
		(unsigned long) (s->dead_timeout / STORM_MS),
		(unsigned long) (s->heartbeat / STORM_MS));
}

/* ------------------------------------------------------------- the file --- */

static char *conf_take_key(void *arg, const char *path, unsigned int line,
			   const char *name, const char *value)
{
	struct conf_load *l = arg;
	int key = conf_key_find(name);
	const char *meant;
	struct conf_given *g;

	if (key < 0) {
		meant = conf_key_meant(name);
		return meant ? xstrdup_printf(
				       "unknown key '%.60s' (did you mean %s?)",
				       name, meant) :
			       xstrdup_printf(
				       "unknown key '%.60s' (see storm.conf(5))",
				       name);
	}
	g = &l->given[key];
	if (g->value && running_in_daemon())
		error("%s:%u: %s overrides the value at %s", path, line,
		      conf_key_name(key), g->place);
	xfree(g->value);
	xfree(g->place);
	g->value = xstrdup(value);
	g->place = xstrdup_printf("%s:%u", path, line);
	return NULL;
}

static char *conf_set_keys(struct conf_load *l)
{
	for (unsigned int key = 0; conf_key_name(key); key++) {
		const struct conf_given *g = &l->given[key];
		char *allowed, *why;

		if (!g->value || conf_key_set(key, &l->conf, g->value))
			continue;
		allowed = conf_key_allowed(key);
		why = xstrdup_printf("%s: %s=%s is invalid, allowed: %s",
				     g->place, conf_key_name(key), g->value,
				     allowed);
		xfree(allowed);
		return why;
	}
	l->conf.set.group.port = l->conf.set.port;
	if (!l->conf.context.group)
		l->conf.context.group =
			conf_groups_overlap(&l->conf, CONTEXT_GROUPS) ?
				CONTEXT_GROUPS_ELSE :
				CONTEXT_GROUPS;
	return NULL;
}

int storm_conf_load_file(const char *path, struct storm_conf *out, char **error)
{
	struct conf_load l = { .path = path };
	char *why;

	storm_conf_default(&l.conf);
	l.conf.context.group = 0; /* not given */
	why = conf_file_read(path, conf_take_key, &l);
	if (!why)
		why = conf_set_keys(&l);
	if (!why)
		why = conf_check_groups(&l);
	if (!why)
		why = conf_check_timeouts(&l);
	if (!why)
		why = conf_check_rails(&l);
	for (unsigned int key = 0; key < CONF_KEYS_MAX; key++) {
		xfree(l.given[key].value);
		xfree(l.given[key].place);
	}
	if (why) {
		*error = why;
		return SLURM_ERROR;
	}
	*out = l.conf;
	return SLURM_SUCCESS;
}

/* In the directory of the slurm.conf that this process has read. */
static char *conf_path(void)
{
	char *path, *slash;

	if (!slurm_conf.slurm_conf)
		return get_extra_conf_path("storm.conf");
	path = xstrdup(slurm_conf.slurm_conf);
	slash = strrchr(path, '/');
	if (slash)
		slash[1] = '\0';
	else
		path[0] = '\0';
	xstrcat(path, "storm.conf");
	return path;
}

int storm_conf_load(struct storm_conf *out, char **error)
{
	char *path = conf_path();
	int rc = SLURM_SUCCESS;

	if (access(path, F_OK) && errno == ENOENT)
		storm_conf_default(out);
	else
		rc = storm_conf_load_file(path, out, error);
	xfree(path);
	return rc;
}

void storm_conf_stamp(char out[STORM_CONF_STAMP_MAX])
{
	char *path = conf_path();
	struct stat st;

	if (stat(path, &st))
		memset(&st, 0, sizeof(st));
	snprintf(out, STORM_CONF_STAMP_MAX, "%lld.%09ld-%lld %s",
		 (long long) st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
		 (long long) st.st_size,
		 slurm_conf.schedtype ? slurm_conf.schedtype : "");
	xfree(path);
}
