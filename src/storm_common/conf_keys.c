/*
 * conf_keys.c - the keys of storm.conf: see conf_keys.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "conf_keys.h"
#include "conf_partition.h"
#include "conf_text.h"
#include "conf_value.h"
#include "gang_map.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"

enum key_kind {
	KEY_NUMBER,
	KEY_BYTES,  /* with K, M or G (powers of 1024) at the end */
	KEY_TIME,   /* stored as ns; written in ms, or with us, ms or s */
	KEY_CHOICE, /* stored as the index into choices */
	KEY_OTHER   /* has a function, parse */
};

struct conf_key {
	const char *name;
	enum key_kind kind;
	size_t at, size; /* the field in struct storm_conf */
	uint64_t min, max;
	const char *zero;	    /* what 0 below min means, or NULL */
	const char *what;	    /* a number's unit, or what is allowed */
	const char *const *choices; /* ends with NULL */
	bool (*parse)(struct storm_conf *c, void *field, const char *value);
	bool old; /* of the old form, for one version */
};

#define KEY_LETTERS 32 /* no name is longer */

/* --------------------------------------------- keys with their own form --- */

static bool conf_parse_allowed(struct storm_conf *c, void *field,
			       const char *value)
{
	char(*list)[STORM_CONF_ALLOW_MAX] = field;
	size_t n = strlen(value);

	if (!n || n >= sizeof(*list) || value[strspn(value, ",")] == 0)
		return false;
	memcpy(*list, value, n + 1);
	return true;
}

static bool conf_parse_interface(struct storm_conf *c, void *field,
				 const char *v)
{
	if (!*v || strlen(v) >= sizeof(c->set.interface) || strchr(v, '/'))
		return false;
	strcpy(c->set.interface, v);
	return true;
}

/* NAME or NAME:PORT.  Whether the device exists is not checked: the file is the
 * same on all hosts, and only the host that uses the device can know. */
static bool conf_parse_rail(char (*name)[STORM_DEVICE_MAX + 1], uint8_t *port,
			    const char *v)
{
	size_t len = strcspn(v, ":");
	uint64_t n = 0;

	if (!len || len >= sizeof(*name) || memchr(v, '/', len))
		return false;
	if (v[len] && (!conf_parse_number(v + len + 1, &n) || !n || n > 254))
		return false;
	memcpy(*name, v, len);
	(*name)[len] = '\0';
	*port = n;
	return true;
}

static bool conf_parse_data_rail(struct storm_conf *c, void *field,
				 const char *v)
{
	return conf_parse_rail(&c->set.device, &c->set.ib_port, v);
}

static bool conf_parse_strobe_rail(struct storm_conf *c, void *field,
				   const char *v)
{
	return conf_parse_rail(&c->set.strobe_device, &c->set.strobe_ib_port,
			       v);
}

/* Hexadecimal with 0x, or decimal. */
static bool conf_parse_pkey(struct storm_conf *c, void *field, const char *v)
{
	bool hex = v[0] == '0' && (v[1] == 'x' || v[1] == 'X');
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(v, &end, hex ? 16 : 10);
	if (!isxdigit((unsigned char) v[hex ? 2 : 0]) || *end || errno ||
	    !(n & 0x7fff) || n > 0xffff)
		return false;
	*(uint16_t *) field = n;
	return true;
}

/* *group is in host byte order. */
static bool conf_parse_ipv4_group(const char *v, uint32_t *group)
{
	struct in_addr a;

	if (inet_pton(AF_INET, v, &a) != 1)
		return false;
	*group = ntohl(a.s_addr);
	return IN_MULTICAST(*group);
}

static bool conf_parse_group(struct storm_conf *c, void *field, const char *v)
{
	struct storm_addr *a = field;
	uint32_t group;

	if (!conf_parse_ipv4_group(v, &group))
		return false;
	memset(a->ip, 0, 10);
	memset(a->ip + 10, 0xff, 2);
	group = htonl(group);
	memcpy(a->ip + 12, &group, 4);
	return true;
}

static bool conf_parse_context_group(struct storm_conf *c, void *field,
				     const char *v)
{
	return conf_parse_ipv4_group(v, field);
}

static bool conf_parse_freezer(struct storm_conf *c, void *field, const char *v)
{
	static const char *const known[] = { "auto", "cgroup2", "signals",
					     "freezer", NULL };
	uint64_t i;

	if (!conf_parse_choice(known, v, &i))
		return false;
	strcpy(c->freezer, i ? known[i] : "");
	return true;
}

/* CPU numbers and ranges, separated by commas. */
static bool conf_parse_cpus(struct storm_conf *c, void *field, const char *s)
{
	cpu_set_t *out = field;
	uint64_t first, last;

	CPU_ZERO(out);
	do {
		if (!conf_parse_digits(s, &first, &s))
			return false;
		last = first;
		if (*s == '-' && !conf_parse_digits(s + 1, &last, &s))
			return false;
		if (first > last || last >= CPU_SETSIZE)
			return false;
		for (; first <= last; first++)
			CPU_SET(first, out);
	} while (*s++ == ',');
	return !s[-1];
}

/* FIRST-LAST. */
static bool conf_parse_ports(struct storm_conf *c, void *field, const char *v)
{
	uint64_t first, last;

	if (!conf_parse_digits(v, &first, &v) || *v != '-' ||
	    !conf_parse_number(v + 1, &last) || first < 1024 || first > last ||
	    last > UINT16_MAX)
		return false;
	c->launcher_port_first = (uint16_t) first;
	c->launcher_port_last = (uint16_t) last;
	return true;
}

static bool conf_parse_percent(struct storm_conf *c, void *field, const char *v)
{
	const char *end;
	double d;

	if (!conf_parse_decimal(v, &d, &end) || *end || !(d <= 100))
		return false;
	*(uint32_t *) field = d * 10000 + 0.5;
	return true;
}

/* Parse each item of a list that is separated by commas. */
static bool conf_parse_list(struct storm_conf *c, const char *v,
			    bool (*conf_parse_one)(struct storm_conf *c,
						   char *one))
{
	char *copy = conf_text_make("%s", v), *save = NULL;
	bool good = true;

	for (char *s = strtok_r(copy, ",", &save); s && good;
	     s = strtok_r(NULL, ",", &save))
		good = conf_parse_one(c, s);
	free(copy);
	return good;
}

/* The four keys of the old form, which list partitions. */

/* PARTITION:VALUE, which is cut in two.  NULL: it is none, or too much. */
static struct storm_conf_partition *
conf_partition_value(struct storm_conf *c, char *s, const char **value)
{
	char *colon = strchr(s, ':');

	if (!colon)
		return NULL;
	*colon = '\0';
	*value = colon + 1;
	return conf_partition_entry(&c->gang, s);
}

static bool conf_parse_one_quantum(struct storm_conf *c, char *s)
{
	const char *value;
	struct storm_conf_partition *p = conf_partition_value(c, s, &value);

	return p && conf_parse_time(value, &p->quantum) &&
	       p->quantum >= GANG_QUANTUM_MIN && p->quantum <= GANG_QUANTUM_MAX;
}

static bool conf_parse_quanta(struct storm_conf *c, void *field, const char *v)
{
	return conf_parse_list(c, v, conf_parse_one_quantum);
}

static bool conf_parse_one_local(struct storm_conf *c, char *s)
{
	struct storm_conf_partition *p = conf_partition_entry(&c->gang, s);

	if (p)
		p->local = true;
	return p;
}

static bool conf_parse_local(struct storm_conf *c, void *field, const char *v)
{
	return conf_parse_list(c, v, conf_parse_one_local);
}

static bool conf_parse_one_limit(struct storm_conf *c, char *s)
{
	struct storm_conf_partition *p = conf_partition_entry(&c->gang, s);

	if (p)
		p->limit_by_turns = true;
	return p;
}

static bool conf_parse_limits(struct storm_conf *c, void *field, const char *v)
{
	return conf_parse_list(c, v, conf_parse_one_limit);
}

/* Each partition once: which of two policies would count? */
static bool conf_parse_one_policy(struct storm_conf *c, char *s)
{
	const char *value;
	struct storm_conf_partition *p = conf_partition_value(c, s, &value);

	if (!p || p->turns)
		return false;
	if (!strcasecmp(value, "local")) {
		p->local = true;
		return true;
	}
	p->policy = gang_policy_find(value);
	p->turns = p->policy < GANG_POLICIES;
	return p->turns;
}

static bool conf_parse_policies(struct storm_conf *c, void *field,
				const char *v)
{
	return conf_parse_list(c, v, conf_parse_one_policy);
}

/* QOS:WEIGHT, each QOS once. */
static bool conf_parse_one_weight(struct storm_conf *c, char *s)
{
	struct storm_gang_conf *g = &c->gang;
	struct storm_conf_qos *q = &g->qos[g->qoses];
	char *colon = strchr(s, ':'), *end;
	unsigned long weight;

	if (!colon || colon == s || (size_t) (colon - s) >= sizeof(q->name) ||
	    g->qoses == STORM_CONF_QOS || !isdigit((unsigned char) colon[1]))
		return false;
	*colon = '\0';
	for (uint32_t i = 0; i < g->qoses; i++)
		if (!strcasecmp(g->qos[i].name, s))
			return false;
	weight = strtoul(colon + 1, &end, 10);
	if (*end || !weight || weight > STORM_CONF_WEIGHT_MAX)
		return false;
	strcpy(q->name, s);
	q->weight = (uint32_t) weight;
	g->qoses++;
	return true;
}

/* NUMBER, or NUMBER% of the nodes. */
static bool conf_parse_share(const char *v, uint32_t *number, bool *percent)
{
	const char *end;
	uint64_t n;

	if (!conf_parse_digits(v, &n, &end) || !n || n > 65536 ||
	    strcmp(end, *end == '%' ? "%" : "") || (*end && n > 100))
		return false;
	*number = (uint32_t) n;
	*percent = *end;
	return true;
}

/* An absolute path, or "none". */
static bool conf_parse_program(struct storm_conf *c, void *field, const char *v)
{
	if (strlen(v) >= sizeof(c->health.program) ||
	    (*v != '/' && strcasecmp(v, "none")))
		return false;
	strcpy(c->health.program, *v == '/' ? v : "none");
	return true;
}

/* Absolute paths with colons between. */
static bool conf_parse_paths(struct storm_conf *c, void *field, const char *v)
{
	if (strlen(v) >= sizeof(c->health.paths) || *v != '/')
		return false;
	for (const char *p = strchr(v, ':'); p; p = strchr(p + 1, ':'))
		if (p[1] != '/')
			return false;
	strcpy(c->health.paths, v);
	return true;
}

static bool conf_parse_failed_max(struct storm_conf *c, void *field,
				  const char *v)
{
	return conf_parse_share(v, &c->gang.failed_max,
				&c->gang.failed_percent);
}

static bool conf_parse_odd_max(struct storm_conf *c, void *field, const char *v)
{
	return conf_parse_share(v, &c->odd_max, &c->odd_percent);
}

static bool conf_parse_weights(struct storm_conf *c, void *field, const char *v)
{
	return conf_parse_list(c, v, conf_parse_one_weight);
}

static bool conf_parse_one_allowed(struct storm_conf *c, char *s)
{
	if (!strcasecmp(s, "gpus"))
		c->gang.allow_gpus = true;
	else if (!strcasecmp(s, "licenses"))
		c->gang.allow_licenses = true;
	else
		return false;
	return true;
}

static bool conf_parse_allow(struct storm_conf *c, void *field, const char *v)
{
	return conf_parse_list(c, v, conf_parse_one_allowed);
}

/* ------------------------------------------------------------ the table --- */

#define KEY(n, k, field, ...)                                                 \
	{                                                                     \
		.name = n, .kind = KEY_##k,                                   \
		.at = offsetof(struct storm_conf, field),                     \
		.size = sizeof(((struct storm_conf *) 0)->field), __VA_ARGS__ \
	}
#define NUMBER(n, field, from, to, ...) \
	KEY(n, NUMBER, field, .min = from, .max = to, ##__VA_ARGS__)
#define BYTES(n, field, from, to, ...) \
	KEY(n, BYTES, field, .min = from, .max = to, ##__VA_ARGS__)
#define TIME(n, field, from, to, ...) \
	KEY(n, TIME, field, .min = from, .max = to, ##__VA_ARGS__)
#define CHOICE(n, field, ...) \
	KEY(n, CHOICE, field, \
	    .choices = (const char *const[]) { __VA_ARGS__, NULL })
#define YES_NO(n, field)                           \
	KEY(n, CHOICE, field, .what = "yes or no", \
	    .choices = (const char *const[]) { "no", "yes", NULL })
#define OTHER(n, field, fn, allowed) \
	KEY(n, OTHER, field, .parse = fn, .what = allowed)

#define OLD(n, fn, allowed) \
	KEY(n, OTHER, gang, .parse = fn, .what = allowed, .old = true)

#define GID "an index into the port's GID table"
#define GROUP "an IPv4 multicast address, 224.0.0.0 to 239.255.255.255"
#define RAIL \
	"an RDMA device or a network interface, at most 63 characters, optionally with a port, as in mlx5_0:1"
#define SHARE "a number of nodes from 1 to 65536, or 1% to 100%"
#define PARTITION \
	"a P_Key, 0x0001 to 0x7fff, or 0x8001 to 0xffff with the bit of full membership"

/* testsuite/unit/man_complete reads the names. */
/* A key stands at the beginning of its line: tests read the table. */
/* clang-format off */
static const struct conf_key keys[] = {
	CHOICE("Transport", set.transport,
	       [STORM_TRANSPORT_UDP] = "udp",
	       [STORM_TRANSPORT_VERBS] = "verbs"),
	YES_NO("TransportFallback", set.transport_fallback),
	OTHER("DataRail", set.device, conf_parse_data_rail, RAIL),
	OTHER("StrobeRail", set.strobe_device, conf_parse_strobe_rail, RAIL),
	NUMBER("GidIndex", set.gid_index, 0, 65535, .what = GID),
	NUMBER("StrobeGidIndex", set.strobe_gid_index, 0, 65535, .what = GID),
	OTHER("PKey", set.pkey, conf_parse_pkey, PARTITION),
	OTHER("StrobePKey", set.strobe_pkey, conf_parse_pkey, PARTITION),
	NUMBER("ServiceLevel", set.service_level, 0, 15),
	NUMBER("StrobeServiceLevel", set.service_level_control, 0, 15),
	NUMBER("ReceiveQueue", set.recv_depth, 16, 32768),
	NUMBER("StrobeReceiveQueue", set.strobe_recv_depth, 16, 32768),
	NUMBER("StrobeMTU", set.strobe_mtu, 576, 65535, .zero = "for MTU"),
	OTHER("Interface", set.interface, conf_parse_interface,
	      "the name of a network interface, at most 15 characters"),
	NUMBER("Port", set.port, 1, 65535),
	YES_NO("Multicast", set.multicast),
	OTHER("GroupBase", set.group, conf_parse_group, GROUP),
	NUMBER("GroupCount", set.groups, 1, 64),
	NUMBER("ContextCount", context.count, 1, STORM_CONTEXTS_MAX,
	       .zero = "for no contexts"),
	NUMBER("ContextsPerUser", context.per_user, 1, STORM_CONTEXTS_MAX),
	OTHER("ContextGroupBase", context.group, conf_parse_context_group, GROUP),
	NUMBER("TTL", set.ttl, 0, 255),
	NUMBER("DSCP", set.dscp, 0, 63),
	NUMBER("ControlDSCP", set.dscp_control, 0, 63),
	NUMBER("Radix", set.radix, 2, 64),
	BYTES("Window", set.window, 64 << 10, 1 << 30),
	BYTES("Rate", set.rate, 10000, 1ULL << 40,
	      .what = "bytes a second", .zero = "for no limit"),
	BYTES("SocketBuffer", set.socket_buffer, 64 << 10, 1 << 30),
	NUMBER("MTU", set.mtu, 576, 65535, .zero = "for the interface's"),
	TIME("OpenTimeout", set.open_timeout,
	     100 * STORM_MS, 600 * STORM_SEC),
	TIME("MulticastTimeout", set.multicast_timeout,
	     10 * STORM_MS, 60 * STORM_SEC),
	TIME("DeadTimeout", set.dead_timeout,
	     100 * STORM_MS, 600 * STORM_SEC),
	TIME("OpTimeout", set.op_timeout, 100 * STORM_MS, 3600 * STORM_SEC),
	TIME("Heartbeat", set.heartbeat, 10 * STORM_MS, 60 * STORM_SEC),
	TIME("Pulse", set.pulse, 5 * STORM_MS, STORM_SEC, .zero = "for none"),
	NUMBER("MaxSessions", set.sessions_max, 1, 65536),
	NUMBER("MaxUserSessions", set.user_sessions_max, 1, 65536),
	BYTES("MaxMemory", set.memory_max, 1 << 20, 1ULL << 40),
	BYTES("MaxUserMemory", set.user_memory_max, 1 << 20, 1ULL << 40),
	OTHER("AllowUsers", allow_users, conf_parse_allowed,
	      "names of users, uids, or names of groups after an @, separated by commas, at most 1023 characters"),
	OTHER("AllowHosts", allow_hosts, conf_parse_allowed,
	      "a list of hosts as in slurm.conf, addresses, or networks as in 10.0.0.0/8, separated by commas, at most 1023 characters"),
	CHOICE("LogLevel", log, [CONF_LOG_SLURM] = "slurm",
	       [CONF_LOG_ERROR] = "error", [CONF_LOG_INFO] = "info",
	       [CONF_LOG_DEBUG] = "debug"),
	CHOICE("Fallback", fallback, [FALLBACK_NODES] = "nodes",
	       [FALLBACK_WARN] = "warn", [FALLBACK_NEVER] = "never"),
	CHOICE("FailedLaunch", failed_launch,
	       [FAILED_LAUNCH_FALLBACK] = "fallback",
	       [FAILED_LAUNCH_RETRY] = "retry",
	       [FAILED_LAUNCH_FAIL] = "fail"),
	OTHER("MaxFallbackNodes", odd_max, conf_parse_odd_max, SHARE),
	NUMBER("LaunchNodes", launch_nodes, 1, 65536),
	OTHER("AgentCPUs", agent_cpus, conf_parse_cpus,
	      "CPU numbers from 0 to 1023, as in 0,2-3"),
	TIME("AgentLinger", agent_linger, 0, 3600 * STORM_SEC),
	TIME("LauncherIdle", launcher_idle, 100 * STORM_MS,
	     30 * 24 * 3600 * STORM_SEC, .zero = "for no limit"),
	OTHER("LauncherPorts", launcher_port_first, conf_parse_ports,
	      "FIRST-LAST, two ports from 1024 to 65535"),
	CHOICE("Base", gang.base, [BASE_BACKFILL] = "backfill",
	       [BASE_BUILTIN] = "builtin"),
	YES_NO("Cluster", gang.cluster),
	CHOICE("FailedNode", gang.failed, [FAILED_REPORT] = "report",
	       [FAILED_DRAIN] = "drain", [FAILED_DOWN] = "down"),
	TIME("ActAfter", gang.act_after, STORM_SEC, 3600 * STORM_SEC),
	OTHER("MaxFailedNodes", gang.failed_max, conf_parse_failed_max, SHARE),
	TIME("Health", health.period, STORM_SEC, 3600 * STORM_SEC,
	     .zero = "for no checks"),
	BYTES("HealthSpace", health.space, 0, 1ULL << 50),
	NUMBER("HealthInodes", health.inodes, 0, UINT32_MAX),
	BYTES("HealthMemory", health.memory, 0, 1ULL << 50),
	OTHER("HealthPaths", health.paths, conf_parse_paths,
	      "absolute paths with colons between, at most 1023 characters"),
	OTHER("HealthProgram", health.program, conf_parse_program,
	      "the absolute path of a program, or none"),
	TIME("HealthTimeout", health.timeout, 100 * STORM_MS, 3600 * STORM_SEC),
	YES_NO("HealthBusy", health.busy),
	CHOICE("Packing", gang.packing, [PACKING_FIRST_FIT] = "first-fit",
	       [PACKING_BUDDY] = "buddy"),
	TIME("Quantum", gang.quantum, GANG_QUANTUM_MIN, GANG_QUANTUM_MAX),
	TIME("StrobeLead", gang.lead, 0, GANG_LEAD_MAX),
	/* for its line's other keys see conf_partition.c */
	OTHER("Partition", gang, NULL, ""),
	OLD("PartitionQuantum", conf_parse_quanta,
	      "PARTITION:QUANTUM, at most 32 of them, separated by commas; each quantum as in Quantum, 100us to 600s"),
	OLD("PartitionPolicy", conf_parse_policies,
	      "PARTITION:POLICY, at most 32 of them, separated by commas, each partition once; each policy gang, flexible, yield or local"),
	OLD("LocalPartitions", conf_parse_local,
	      "at most 32 names of partitions, separated by commas"),
	OLD("TimeLimitByTurns", conf_parse_limits,
	      "at most 32 names of partitions, separated by commas"),
	OTHER("QosWeight", gang, conf_parse_weights,
	      "QOS:WEIGHT, at most 32 of them, separated by commas, each QOS once; each weight 1 to 16"),
	OTHER("GangAllow", gang, conf_parse_allow,
	      "gpus, licenses, or both separated by a comma"),
	OTHER("Freezer", freezer, conf_parse_freezer,
	      "auto, cgroup2, signals or freezer"),
	YES_NO("GangDebug", gang_debug),
	YES_NO("GangYield", gang_yield),
	OTHER("DropPercent", set.drop_ppm, conf_parse_percent,
	      "a number from 0 to 100"),
	NUMBER("DropSeed", set.drop_seed, 0, UINT64_MAX),
};
/* clang-format on */
#define KEYS (sizeof(keys) / sizeof(keys[0]))
_Static_assert(KEYS <= CONF_KEYS_MAX, "CONF_KEYS_MAX is too small");

static void conf_key_store(const struct conf_key *k, void *field, uint64_t n)
{
	switch (k->size) {
	case 1:
		*(uint8_t *) field = n;
		break;
	case 2:
		*(uint16_t *) field = n;
		break;
	case 4:
		*(uint32_t *) field = n;
		break;
	case 8:
		*(uint64_t *) field = n;
	}
}

static bool conf_key_in_bounds(const struct conf_key *k, uint64_t n)
{
	return (n >= k->min && n <= k->max) || (k->zero && !n);
}

bool conf_key_set(unsigned int key, struct storm_conf *c, const char *value)
{
	const struct conf_key *k = &keys[key];
	void *field = (char *) c + k->at;
	bool good = false;
	uint64_t n;

	switch (k->kind) {
	case KEY_NUMBER:
		good = conf_parse_number(value, &n) && conf_key_in_bounds(k, n);
		break;
	case KEY_BYTES:
		good = conf_parse_bytes(value, &n) && conf_key_in_bounds(k, n);
		break;
	case KEY_TIME:
		good = conf_parse_time(value, &n) && conf_key_in_bounds(k, n);
		break;
	case KEY_CHOICE:
		good = conf_parse_choice(k->choices, value, &n);
		break;
	case KEY_OTHER:
		return k->parse(c, field, value);
	}
	if (good)
		conf_key_store(k, field, n);
	return good;
}

/* Append the value with the greatest unit of which it is a whole number. */
static void conf_add_amount(char **text, enum key_kind kind, uint64_t n)
{
	static const struct {
		uint64_t of;
		const char *name;
	} units[][3] = { [KEY_NUMBER] = { { 1, "" } },
			 [KEY_BYTES] = { { 1 << 30, "G" },
					 { 1 << 20, "M" },
					 { 1 << 10, "K" } },
			 [KEY_TIME] = { { STORM_SEC, "s" },
					{ STORM_MS, "ms" },
					{ STORM_US, "us" } } };

	for (int i = 0; i < 3 && units[kind][i].of; i++)
		if (n && n % units[kind][i].of == 0) {
			conf_text_add(text, "%" PRIu64 "%s",
				      n / units[kind][i].of,
				      units[kind][i].name);
			return;
		}
	conf_text_add(text, "%" PRIu64, n);
}

char *conf_key_allowed(unsigned int key)
{
	static const char *const what[] = { "a number", "bytes", "a time" };
	const struct conf_key *k = &keys[key];
	char *text = NULL;

	if (k->kind >= KEY_CHOICE && k->what)
		return conf_text_make("%s", k->what);
	if (k->kind == KEY_CHOICE) {
		for (int i = 0; k->choices[i]; i++)
			conf_text_add(&text, "%s%s", i ? " or " : "",
				      k->choices[i]);
		return text;
	}
	conf_text_add(&text, "%s from ", k->what ? k->what : what[k->kind]);
	conf_add_amount(&text, k->kind, k->min);
	conf_text_add(&text, " to ");
	conf_add_amount(&text, k->kind, k->max);
	if (k->kind == KEY_TIME)
		conf_text_add(&text,
			      "; a number without a unit is in milliseconds");
	if (k->zero)
		conf_text_add(&text, ", or 0 %s", k->zero);
	return text;
}

/* ------------------------------------------------------------ the names --- */

const char *conf_key_name(unsigned int key)
{
	return key < KEYS ? keys[key].name : NULL;
}

bool conf_key_is_old(unsigned int key)
{
	return keys[key].old;
}

int conf_key_find(const char *name)
{
	for (size_t i = 0; i < KEYS; i++)
		if (!strcasecmp(keys[i].name, name))
			return (int) i;
	return -1;
}

static bool conf_same_letter(char a, char b)
{
	return tolower((unsigned char) a) == tolower((unsigned char) b);
}

/* How many letters are wrong, missing, added or swapped with a neighbour: the
 * Damerau-Levenshtein distance (optimal string alignment). */
static unsigned int conf_misprints(const char *a, const char *b)
{
	unsigned int d[KEY_LETTERS + 1][KEY_LETTERS + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n > KEY_LETTERS || m > KEY_LETTERS)
		return KEY_LETTERS;
	for (size_t i = 0; i <= n; i++)
		for (size_t k = 0; k <= m; k++) {
			unsigned int least = i + k, wrong;

			if (i && k) {
				wrong = !conf_same_letter(a[i - 1], b[k - 1]);
				least = storm_min(d[i - 1][k], d[i][k - 1]) + 1;
				least = storm_min(least,
						  d[i - 1][k - 1] + wrong);
			}
			if (i > 1 && k > 1 &&
			    conf_same_letter(a[i - 1], b[k - 2]) &&
			    conf_same_letter(a[i - 2], b[k - 1]))
				least = storm_min(least, d[i - 2][k - 2] + 1);
			d[i][k] = least;
		}
	return d[n][m];
}

const char *conf_key_meant(const char *name)
{
	/* in a short name only one letter may be wrong */
	unsigned int nearest = strlen(name) < 6 ? 2 : 3;
	const char *meant = NULL;

	if (!strcasecmp(name, "PartitionName")) /* slurm.conf's */
		return CONF_PARTITION;
	for (size_t i = 0; i < KEYS; i++) {
		unsigned int n = conf_misprints(name, keys[i].name);

		if (n >= nearest || keys[i].old)
			continue;
		nearest = n;
		meant = keys[i].name;
	}
	return meant;
}
