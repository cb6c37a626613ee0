/*
 * storm_conf.c - storm.conf: see storm_conf.h.
 *
 * Slurm's parser reads every value as a string and the values are judged
 * here, so that a refusal can name the key, the value and what is allowed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slurm/slurm_errno.h"
#include "src/common/parse_config.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "gang_map.h"
#include "storm_conf.h"
#include "src/libstorm/clock.h"

/* Each gives NULL, or what is allowed (a static string). */
typedef const char *(*value_fn)(struct storm_conf *c, const char *value);

/* A plain decimal number; no sign, no blanks; *end at what follows it. */
static bool _number(const char *s, uint64_t *out, const char **end)
{
	char *e;

	if (!isdigit((unsigned char) *s))
		return false;
	errno = 0;
	*out = strtoull(s, &e, 10);
	*end = e;
	return !errno;
}

static bool _integer(const char *s, uint64_t min, uint64_t max, uint64_t *out)
{
	const char *end;

	return _number(s, out, &end) && !*end && *out >= min && *out <= max;
}

/* Bytes, with K, M or G (powers of 1024) at the end. */
static bool _bytes(const char *s, uint64_t min, uint64_t max, uint64_t *out)
{
	const char *end;
	int shift = 0;

	if (!_number(s, out, &end))
		return false;
	switch (toupper((unsigned char) *end)) {
	case 'G':
		shift += 10;
		/* fall through */
	case 'M':
		shift += 10;
		/* fall through */
	case 'K':
		shift += 10;
		end++;
	}
	if (*end || *out > UINT64_MAX >> shift)
		return false;
	*out <<= shift;
	return *out >= min && *out <= max;
}

/* Milliseconds; "5s" is 5000, "5ms" is 5. */
static bool _time(const char *s, uint64_t min_ms, uint64_t max_ms,
		  uint64_t *ns)
{
	const char *end;
	uint64_t ms;

	if (!_number(s, &ms, &end))
		return false;
	if (!strcasecmp(end, "s")) {
		if (ms > max_ms / 1000)
			return false;
		ms *= 1000;
	} else if (*end && strcasecmp(end, "ms")) {
		return false;
	}
	if (ms < min_ms || ms > max_ms)
		return false;
	*ns = ms * STORM_MS;
	return true;
}

#define INTEGER(fn, field, min, max)					\
static const char *fn(struct storm_conf *c, const char *v)		\
{									\
	uint64_t n;							\
									\
	if (!_integer(v, min, max, &n))					\
		return "a number from " #min " to " #max;		\
	c->set.field = n;						\
	return NULL;							\
}

#define TIME(fn, field, min, max)					\
static const char *fn(struct storm_conf *c, const char *v)		\
{									\
	if (!_time(v, min, max, &c->field))				\
		return #min " to " #max " milliseconds, or seconds with "\
			"an s behind";					\
	return NULL;							\
}

INTEGER(_service_level, service_level, 0, 15)
INTEGER(_strobe_service_level, service_level_control, 0, 15)
INTEGER(_receive_queue, recv_depth, 16, 32768)
INTEGER(_strobe_receive_queue, strobe_recv_depth, 16, 32768)
INTEGER(_port, port, 1, 65535)
INTEGER(_group_count, groups, 1, 64)
INTEGER(_ttl, ttl, 0, 255)
INTEGER(_dscp, dscp, 0, 63)
INTEGER(_control_dscp, dscp_control, 0, 63)
INTEGER(_radix, radix, 2, 64)
INTEGER(_max_sessions, sessions_max, 1, 65536)
INTEGER(_drop_seed, drop_seed, 0, 18446744073709551615U)
TIME(_open_timeout, set.open_timeout, 100, 600000)
TIME(_multicast_timeout, set.multicast_timeout, 10, 60000)
TIME(_dead_timeout, set.dead_timeout, 100, 600000)
TIME(_op_timeout, set.op_timeout, 100, 3600000)
TIME(_heartbeat, set.heartbeat, 10, 60000)
TIME(_agent_linger, agent_linger, 0, 3600000)

static const char *_interface(struct storm_conf *c, const char *v)
{
	if (!*v || strlen(v) >= sizeof(c->set.interface) || strchr(v, '/'))
		return "the name of a network interface, at most 15 letters";
	strcpy(c->set.interface, v);
	return NULL;
}

static const char *_yes_no(const char *v, bool *out)
{
	if (!strcasecmp(v, "yes"))
		*out = true;
	else if (!strcasecmp(v, "no"))
		*out = false;
	else
		return "yes or no";
	return NULL;
}

static const char *_multicast(struct storm_conf *c, const char *v)
{
	return _yes_no(v, &c->set.multicast);
}

static const char *_transport(struct storm_conf *c, const char *v)
{
	if (!strcasecmp(v, "udp"))
		c->set.transport = STORM_TRANSPORT_UDP;
	else if (!strcasecmp(v, "verbs"))
		c->set.transport = STORM_TRANSPORT_VERBS;
	else
		return "udp or verbs";
	return NULL;
}

static const char *_transport_fallback(struct storm_conf *c, const char *v)
{
	return _yes_no(v, &c->set.transport_fallback);
}

/* NAME or NAME:PORT.  Whether there is such a device is for the host to say that
 * uses it: the file is everybody's. */
static const char *_rail(const char *v, char name[STORM_DEVICE_MAX + 1],
			 uint8_t *port)
{
	size_t len = strcspn(v, ":");
	uint64_t n = 0;

	if (!len || len > STORM_DEVICE_MAX || memchr(v, '/', len) ||
	    (v[len] && !_integer(v + len + 1, 1, 254, &n)))
		return "an RDMA device or a network interface, at most 63 letters, and perhaps a port, as in mlx5_0:1";
	memcpy(name, v, len);
	name[len] = '\0';
	*port = n;
	return NULL;
}

static const char *_data_rail(struct storm_conf *c, const char *v)
{
	return _rail(v, c->set.device, &c->set.ib_port);
}

static const char *_strobe_rail(struct storm_conf *c, const char *v)
{
	return _rail(v, c->set.strobe_device, &c->set.strobe_ib_port);
}

static const char *_gid(const char *v, int *out)
{
	uint64_t n;

	if (!_integer(v, 0, 65535, &n))
		return "an index into the port's GID table, 0 to 65535";
	*out = n;
	return NULL;
}

static const char *_gid_index(struct storm_conf *c, const char *v)
{
	return _gid(v, &c->set.gid_index);
}

static const char *_strobe_gid_index(struct storm_conf *c, const char *v)
{
	return _gid(v, &c->set.strobe_gid_index);
}

/* Written as everybody writes them, or as a decimal number. */
static const char *_partition(const char *v, uint16_t *out)
{
	bool hex = v[0] == '0' && (v[1] == 'x' || v[1] == 'X');
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(v, &end, hex ? 16 : 10);
	if (!isxdigit((unsigned char) v[hex ? 2 : 0]) || *end || errno ||
	    !(n & 0x7fff) || n > 0xffff)
		return "a P_Key, 0x0001 to 0x7fff, or with the bit of full membership 0x8001 to 0xffff";
	*out = n;
	return NULL;
}

static const char *_pkey(struct storm_conf *c, const char *v)
{
	return _partition(v, &c->set.pkey);
}

static const char *_strobe_pkey(struct storm_conf *c, const char *v)
{
	return _partition(v, &c->set.strobe_pkey);
}

static const char *_group(const char *v, struct in_addr *a)
{
	if (inet_pton(AF_INET, v, a) != 1 || !IN_MULTICAST(ntohl(a->s_addr)))
		return "an IPv4 multicast address, 224.0.0.0 to "
			"239.255.255.255";
	return NULL;
}

static const char *_group_base(struct storm_conf *c, const char *v)
{
	struct in_addr a;
	const char *allowed = _group(v, &a);

	if (allowed)
		return allowed;
	memset(c->set.group.ip, 0, 10);
	memset(c->set.group.ip + 10, 0xff, 2);
	memcpy(c->set.group.ip + 12, &a, 4);
	return NULL;
}

static const char *_context_group_base(struct storm_conf *c, const char *v)
{
	struct in_addr a;
	const char *allowed = _group(v, &a);

	if (!allowed)
		c->context.group = ntohl(a.s_addr);
	return allowed;
}

static const char *_context_count(struct storm_conf *c, const char *v)
{
	uint64_t n;

	if (!_integer(v, 0, STORM_CONTEXTS_MAX, &n))
		return "a number from 0, for no contexts, to 1048576";
	c->context.count = n;
	return NULL;
}

static const char *_window(struct storm_conf *c, const char *v)
{
	if (!_bytes(v, 64 << 10, 1ULL << 30, &c->set.window))
		return "64K to 1G bytes";
	return NULL;
}

static const char *_rate(struct storm_conf *c, const char *v)
{
	uint64_t n;

	if (!_bytes(v, 0, 1ULL << 40, &n) || (n && n < 10000))
		return "bytes a second from 10000 to 1024G, or 0 for no limit";
	c->set.rate = n;
	return NULL;
}

static const char *_socket_buffer(struct storm_conf *c, const char *v)
{
	uint64_t n;

	if (!_bytes(v, 64 << 10, 1 << 30, &n))
		return "64K to 1G bytes";
	c->set.socket_buffer = n;
	return NULL;
}

static const char *_bytes_of_packet(const char *v, uint32_t *to)
{
	uint64_t n;

	if (!_integer(v, 0, 65535, &n) || (n && n < 576))
		return "576 to 65535, or 0 for the interface's";
	*to = n;
	return NULL;
}

static const char *_mtu(struct storm_conf *c, const char *v)
{
	return _bytes_of_packet(v, &c->set.mtu);
}

static const char *_strobe_mtu(struct storm_conf *c, const char *v)
{
	return _bytes_of_packet(v, &c->set.strobe_mtu);
}

static const char *_fallback(struct storm_conf *c, const char *v)
{
	if (!strcasecmp(v, "warn"))
		c->fallback = FALLBACK_WARN;
	else if (!strcasecmp(v, "never"))
		c->fallback = FALLBACK_NEVER;
	else
		return "warn or never";
	return NULL;
}

static const char *_freezer(struct storm_conf *c, const char *v)
{
	static const char *const known[] = {
		"auto", "cgroup2", "signals", "freezer"
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcasecmp(v, known[i]))
			continue;
		strcpy(c->freezer, i ? known[i] : "");
		return NULL;
	}
	return "auto, cgroup2, signals or freezer";
}

/* Numbers of CPUs and ranges of them. */
static bool _cpus(const char *s, cpu_set_t *out)
{
	uint64_t first, last;

	CPU_ZERO(out);
	do {
		if (!_number(s, &first, &s))
			return false;
		last = first;
		if (*s == '-' && !_number(s + 1, &last, &s))
			return false;
		if (first > last || last >= CPU_SETSIZE)
			return false;
		for (; first <= last; first++)
			CPU_SET(first, out);
	} while (*s++ == ',');
	return !s[-1];
}

static const char *_agent_cpus(struct storm_conf *c, const char *v)
{
	return _cpus(v, &c->agent_cpus) ? NULL :
		"numbers of CPUs from 0 to 1023, as in 0,2-3";
}

static const char *_gang_debug(struct storm_conf *c, const char *v)
{
	return _yes_no(v, &c->gang_debug);
}

static const char *_drop_percent(struct storm_conf *c, const char *v)
{
	char *end;
	double d;

	if (!isdigit((unsigned char) *v))
		return "0 to 100";
	d = strtod(v, &end);
	if (*end || !(d >= 0 && d <= 100))
		return "0 to 100";
	c->set.drop_ppm = d * 10000 + 0.5;
	return NULL;
}

static const char *_base(struct storm_conf *c, const char *v)
{
	if (!strcasecmp(v, "backfill"))
		c->gang.base = BASE_BACKFILL;
	else if (!strcasecmp(v, "builtin"))
		c->gang.base = BASE_BUILTIN;
	else
		return "backfill or builtin";
	return NULL;
}

static const char *_packing(struct storm_conf *c, const char *v)
{
	if (!strcasecmp(v, "first-fit"))
		c->gang.packing = PACKING_FIRST_FIT;
	else if (!strcasecmp(v, "buddy"))
		c->gang.packing = PACKING_BUDDY;
	else
		return "first-fit or buddy";
	return NULL;
}

/* As _time(), and "500us", "0.3ms" too. */
static bool _fine_time(const char *s, uint64_t min, uint64_t max, uint64_t *ns)
{
	static const struct { const char *unit; double ns; } units[] = {
		{ "", STORM_MS }, { "ms", STORM_MS }, { "us", STORM_US },
		{ "s", STORM_SEC } };
	size_t digits = strspn(s, "0123456789.");
	double n;
	char *end;

	/* no sign, no exponent, no hexadecimal */
	n = strtod(s, &end);
	if (!isdigit((unsigned char) *s) || end != s + digits)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcasecmp(end, units[i].unit))
			continue;
		n *= units[i].ns;
		if (!(n >= min && n <= max))
			return false;
		*ns = n + 0.5;
		return true;
	}
	return false;
}

static bool _quantum_of(const char *v, uint64_t *ns)
{
	return _fine_time(v, GANG_QUANTUM_MIN, GANG_QUANTUM_MAX, ns);
}

#define QUANTA "100us to 600s; a number alone is of milliseconds"

static const char *_quantum(struct storm_conf *c, const char *v)
{
	return _quantum_of(v, &c->gang.quantum) ? NULL : QUANTA;
}

/* The entry of that name, a new one where there is none; NULL: no room. */
static struct storm_conf_partition *_entry(struct storm_conf *c,
					       const char *name)
{
	struct storm_gang_conf *g = &c->gang;
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

static const char *_partition_quantum(struct storm_conf *c, const char *v)
{
	static const char allowed[] = "PARTITION:QUANTUM, several with commas between, at most 32; quanta as in Quantum, "
		QUANTA;
	struct storm_conf_partition *p;
	char *copy = xstrdup(v), *save = NULL, *colon;
	const char *why = NULL;

	for (char *s = strtok_r(copy, ",", &save); s && !why;
	     s = strtok_r(NULL, ",", &save)) {
		colon = strchr(s, ':');
		if (colon)
			*colon = '\0';
		p = colon ? _entry(c, s) : NULL;
		if (!p || !_quantum_of(colon + 1, &p->quantum))
			why = allowed;
	}
	xfree(copy);
	return why;
}

static const char *_local_partitions(struct storm_conf *c, const char *v)
{
	struct storm_conf_partition *p;
	char *copy = xstrdup(v), *save = NULL;
	const char *why = NULL;

	for (char *s = strtok_r(copy, ",", &save); s && !why;
	     s = strtok_r(NULL, ",", &save)) {
		p = _entry(c, s);
		if (p)
			p->local = true;
		else
			why = "names of partitions, at most 32, with commas between";
	}
	xfree(copy);
	return why;
}

static const char *_gang_allow(struct storm_conf *c, const char *v)
{
	char *copy = xstrdup(v), *save = NULL;
	const char *why = NULL;

	for (char *s = strtok_r(copy, ",", &save); s && !why;
	     s = strtok_r(NULL, ",", &save)) {
		if (!strcasecmp(s, "gpus"))
			c->gang.allow_gpus = true;
		else if (!strcasecmp(s, "licenses"))
			c->gang.allow_licenses = true;
		else
			why = "gpus, licenses, or both with a comma between";
	}
	xfree(copy);
	return why;
}

const struct storm_conf_partition *
storm_conf_partition(const struct storm_gang_conf *g, const char *name)
{
	for (uint32_t i = 0; i < g->partitions; i++)
		if (!strcmp(g->partition[i].name, name))
			return &g->partition[i];
	return NULL;
}

static const struct {
	const char *key;
	value_fn set;
} keys[] = {
	{ "Transport", _transport },
	{ "TransportFallback", _transport_fallback },
	{ "DataRail", _data_rail },
	{ "StrobeRail", _strobe_rail },
	{ "GidIndex", _gid_index },
	{ "StrobeGidIndex", _strobe_gid_index },
	{ "PKey", _pkey },
	{ "StrobePKey", _strobe_pkey },
	{ "ServiceLevel", _service_level },
	{ "StrobeServiceLevel", _strobe_service_level },
	{ "ReceiveQueue", _receive_queue },
	{ "StrobeReceiveQueue", _strobe_receive_queue },
	{ "StrobeMTU", _strobe_mtu },
	{ "Interface", _interface },
	{ "Port", _port },
	{ "Multicast", _multicast },
	{ "GroupBase", _group_base },
	{ "GroupCount", _group_count },
	{ "ContextCount", _context_count },
	{ "ContextGroupBase", _context_group_base },
	{ "TTL", _ttl },
	{ "DSCP", _dscp },
	{ "ControlDSCP", _control_dscp },
	{ "Radix", _radix },
	{ "Window", _window },
	{ "Rate", _rate },
	{ "SocketBuffer", _socket_buffer },
	{ "MTU", _mtu },
	{ "OpenTimeout", _open_timeout },
	{ "MulticastTimeout", _multicast_timeout },
	{ "DeadTimeout", _dead_timeout },
	{ "OpTimeout", _op_timeout },
	{ "Heartbeat", _heartbeat },
	{ "MaxSessions", _max_sessions },
	{ "Fallback", _fallback },
	{ "AgentCPUs", _agent_cpus },
	{ "AgentLinger", _agent_linger },
	{ "Base", _base },
	{ "Packing", _packing },
	{ "Quantum", _quantum },
	{ "PartitionQuantum", _partition_quantum },
	{ "LocalPartitions", _local_partitions },
	{ "GangAllow", _gang_allow },
	{ "Freezer", _freezer },
	{ "GangDebug", _gang_debug },
	{ "DropPercent", _drop_percent },
	{ "DropSeed", _drop_seed },
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* The groups of the steps, where storm.conf does not name them: beside those of the
 * agents (settings.c) in the same scope, or where the site has put these there,
 * before. */
#define CONTEXT_GROUPS 0xefc30000	/* 239.195.0.0 */
#define CONTEXT_GROUPS_ELSE 0xefc20000	/* 239.194.0.0 */

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
}

/* Does "Key = value" begin here?  value NULL: whatever it is. */
static bool _is(const char *s, const char *key, const char *value)
{
	if (strncasecmp(s, key, strlen(key)))
		return false;
	s += strlen(key);
	s += strspn(s, " \t");
	if (*s++ != '=')
		return false;
	s += strspn(s, " \t\"");
	return !value || !strncmp(s, value, strlen(value));
}

/* "file:line" of a key, the last of several, which counts; "file" where that
 * cannot be told: a line goes on over two, or is in a file that is included. */
static char *_where(const char *path, const char *key, const char *value)
{
	unsigned int number = 0, found = 0;
	size_t size = 0;
	FILE *f = fopen(path, "r");
	char *line = NULL;

	while (f && getline(&line, &size, f) >= 0) {
		number++;
		if (_is(line + strspn(line, " \t"), key, value))
			found = number;
	}
	free(line);
	if (f)
		fclose(f);
	return found ? xstrdup_printf("%s:%u", path, found) : xstrdup(path);
}

/* A key of the strobe rail, when there is none. */
static char *_no_strobe_rail(const char *key, const char *path)
{
	char *where = _where(path, key, NULL), *why;

	why = xstrdup_printf("%s: %s is for a StrobeRail, and there is none: set StrobeRail to its device, or leave %s out",
			     where, key, key);
	xfree(where);
	return why;
}

/* By UDP a strobe rail is a network interface, and nothing else. */
static char *_check_udp_rail(const struct storm_settings *s, const char *path)
{
	char *where, *why;

	if (s->transport != STORM_TRANSPORT_UDP || !s->strobe_ib_port)
		return NULL;
	where = _where(path, "StrobeRail", NULL);
	why = xstrdup_printf("%s: StrobeRail=%s:%u has a port, which only RDMA devices have: name a network interface, or set Transport=verbs",
			     where, s->strobe_device, s->strobe_ib_port);
	xfree(where);
	return why;
}

static char *_check_rails(const struct storm_settings *s, const char *path)
{
	if (s->strobe_device[0])
		return _check_udp_rail(s, path);
	if (s->strobe_gid_index >= 0)
		return _no_strobe_rail("StrobeGidIndex", path);
	if (s->strobe_pkey)
		return _no_strobe_rail("StrobePKey", path);
	if (s->strobe_mtu)
		return _no_strobe_rail("StrobeMTU", path);
	return NULL;
}

static uint32_t _agents_group(const struct storm_settings *s)
{
	return (uint32_t) s->group.ip[12] << 24 | s->group.ip[13] << 16 |
		s->group.ip[14] << 8 | s->group.ip[15];
}

/* With verbs each has a second one, for bulk data. */
static uint32_t _agents_groups(const struct storm_settings *s)
{
	return s->transport == STORM_TRANSPORT_VERBS ? 2 * s->groups :
						       s->groups;
}

/* All nodes have joined the agents' groups: what steps send is not for them. */
static bool _overlap(const struct storm_conf *c, uint32_t steps)
{
	uint32_t agents = _agents_group(&c->set);

	return agents < steps + c->context.count &&
		steps < agents + _agents_groups(&c->set);
}

static char *_check_groups(const struct storm_conf *c, const char *path)
{
	const struct storm_settings *s = &c->set;
	const struct storm_context_conf *x = &c->context;
	uint32_t base = _agents_group(s);

	if (!IN_MULTICAST(base + _agents_groups(s) - 1))
		return xstrdup_printf("%s: GroupCount=%u groups from GroupBase reach beyond the multicast addresses",
				      path, s->groups);
	if (!x->count)
		return NULL;
	if (!IN_MULTICAST(x->group + x->count - 1))
		return xstrdup_printf("%s: ContextCount=%u groups from ContextGroupBase reach beyond the multicast addresses",
				      path, x->count);
	if (_overlap(c, x->group))
		return xstrdup_printf("%s: the groups of steps (ContextCount=%u from ContextGroupBase) and those of the agents (GroupCount=%u from GroupBase) overlap",
				      path, x->count, s->groups);
	return NULL;
}

/* What no single value can be wrong about. */
static char *_cross_check(const struct storm_conf *c, const char *path)
{
	const struct storm_settings *s = &c->set;
	char *why = _check_groups(c, path);

	if (why)
		return why;
	if (s->dead_timeout < 2 * s->heartbeat)
		return xstrdup_printf("%s: DeadTimeout (%lu ms) must be at least twice Heartbeat (%lu ms), or a single lost datagram looks like death",
				      path,
				      (unsigned long) (s->dead_timeout / STORM_MS),
				      (unsigned long) (s->heartbeat / STORM_MS));
	return _check_rails(s, path);
}

static char *_refused(const char *path, const char *key, const char *value,
		      const char *allowed)
{
	char *where = _where(path, key, value), *why;

	why = xstrdup_printf("%s: %s=%s is refused, allowed: %s", where, key,
			     value, allowed);
	xfree(where);
	return why;
}

int storm_conf_load_file(const char *path, struct storm_conf *out,
			 char **error)
{
	s_p_options_t options[KEYS + 1] = { { 0 } };
	struct storm_conf conf;
	s_p_hashtbl_t *table;
	char *why = NULL;

	/* the parser would wait a minute for a file that is not there */
	if (access(path, R_OK)) {
		*error = xstrdup_printf("%s: %m", path);
		return SLURM_ERROR;
	}
	storm_conf_default(&conf);
	conf.context.group = 0;		/* not given */
	for (size_t i = 0; i < KEYS; i++) {
		options[i].key = (char *) keys[i].key;
		options[i].type = S_P_STRING;
	}
	table = s_p_hashtbl_create(options);
	if (s_p_parse_file(table, NULL, (char *) path, false, NULL))
		why = xstrdup_printf("%s: an unknown key or a malformed line, see the message before this one",
				     path);
	for (size_t i = 0; !why && i < KEYS; i++) {
		char *value = NULL;
		const char *allowed;

		if (!s_p_get_string(&value, keys[i].key, table))
			continue;
		allowed = keys[i].set(&conf, value);
		if (allowed)
			why = _refused(path, keys[i].key, value, allowed);
		xfree(value);
	}
	s_p_hashtbl_destroy(table);
	conf.set.group.port = conf.set.port;
	if (!conf.context.group)
		conf.context.group = _overlap(&conf, CONTEXT_GROUPS) ?
			CONTEXT_GROUPS_ELSE : CONTEXT_GROUPS;
	if (!why)
		why = _cross_check(&conf, path);
	if (why) {
		*error = why;
		return SLURM_ERROR;
	}
	*out = conf;
	return SLURM_SUCCESS;
}

/* Beside the slurm.conf that this process really read. */
static char *_conf_path(void)
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
	char *path = _conf_path();
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
	char *path = _conf_path();
	struct stat st;

	if (stat(path, &st))
		memset(&st, 0, sizeof(st));
	snprintf(out, STORM_CONF_STAMP_MAX, "%lld.%09ld-%lld %s",
		 (long long) st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
		 (long long) st.st_size,
		 slurm_conf.schedtype ? slurm_conf.schedtype : "");
	xfree(path);
}
