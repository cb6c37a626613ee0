/*
 * agent_allow.c - see agent_allow.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <arpa/inet.h>
#include <grp.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/group_cache.h"
#include "src/common/hostlist.h"
#include "src/common/xmalloc.h"

#include "agent_allow.h"
#include "src/libstorm/base/addr.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/log_limit.h"
#include "src/storm_common/node_addr.h"

#define NAME_MAX_LEN 256
#define ADDRS 8		       /* of one name */
#define NETS 1024	       /* that a list names */
#define AGAIN (60 * STORM_SEC) /* names are looked up again */
#define V4_BITS 96	       /* before an IPv4 address */

/* ------------------------------------------------------------------- users --- */

static bool allow_group(const char *name, uint32_t uid, uint32_t gid)
{
	struct group *g = getgrnam(name);
	gid_t want = g ? g->gr_gid : 0, *gids = NULL;
	bool yes = g && want == gid;
	int n;

	if (!g || yes)
		return yes;
	n = group_cache_lookup(uid, gid, NULL, &gids);
	for (int i = 0; i < n; i++)
		yes |= gids[i] == want;
	xfree(gids);
	return yes;
}

/* A uid, a user's name, or a group's name after an @. */
static bool allow_user_is(const char *item, uint32_t uid, uint32_t gid)
{
	struct passwd *p;
	char *end;
	unsigned long n = strtoul(item, &end, 10);

	if (*item && !*end)
		return n == uid;
	if (*item == '@')
		return allow_group(item + 1, uid, gid);
	p = getpwnam(item);
	return p && p->pw_uid == uid;
}

bool agent_allow_user(const char *list, uint32_t uid, uint32_t gid)
{
	const char *p = list;

	while (*p) {
		char item[NAME_MAX_LEN];
		size_t n = strcspn(p, ",");

		if (n < sizeof(item)) {
			memcpy(item, p, n);
			item[n] = 0;
			if (allow_user_is(item, uid, gid))
				return true;
		}
		p += n + (p[n] == ',');
	}
	return !*list;
}

/* ------------------------------------------------------------------- hosts --- */

struct allow_net {
	uint8_t ip[STORM_ADDR_LEN];
	int bits;
};

static struct {
	struct allow_net net[NETS];
	int nets;
	uint64_t at; /* they were looked up; 0: never */
} hosts;

/* ADDRESS or ADDRESS/BITS. */
static bool allow_net_parse(const char *item, struct allow_net *out)
{
	char text[NAME_MAX_LEN], *slash, *end = NULL;
	struct storm_addr a;
	long bits = 32;

	if (strlen(item) >= sizeof(text))
		return false;
	strcpy(text, item);
	slash = strchr(text, '/');
	if (slash) {
		*slash = 0;
		bits = strtol(slash + 1, &end, 10);
		if (end == slash + 1 || *end || bits < 0 || bits > 32)
			return false;
	}
	if (storm_addr_set(&a, text, 0))
		return false;
	memcpy(out->ip, a.ip, sizeof(out->ip));
	out->bits = V4_BITS + (int) bits;
	return true;
}

static void allow_addr_add(const struct storm_addr *a, int bits)
{
	struct allow_net *net = &hosts.net[hosts.nets];

	if (hosts.nets == NETS)
		return;
	memcpy(net->ip, a->ip, sizeof(net->ip));
	net->bits = bits;
	hosts.nets++;
}

/* A loopback address stands for this host: commands here have any of it, and
 * the address of an interface. */
static void allow_this_host(const struct storm_addr *loopback)
{
	struct ifaddrs *all, *i;

	allow_addr_add(loopback, V4_BITS + 8);
	if (getifaddrs(&all))
		return;
	for (i = all; i; i = i->ifa_next) {
		const struct sockaddr_in *sin = (const void *) i->ifa_addr;
		char text[INET_ADDRSTRLEN];
		struct storm_addr a;

		if (!sin || sin->sin_family != AF_INET)
			continue;
		inet_ntop(AF_INET, &sin->sin_addr, text, sizeof(text));
		if (!storm_addr_set(&a, text, 0))
			allow_addr_add(&a, 8 * STORM_ADDR_LEN);
	}
	freeifaddrs(all);
}

static void allow_net_add(const char *item)
{
	struct storm_log_source from = { 0 };
	struct storm_addr a[ADDRS];
	int n;

	if (hosts.nets == NETS)
		return;
	if (allow_net_parse(item, &hosts.net[hosts.nets])) {
		hosts.nets++;
		return;
	}
	n = node_addrs(item, a, ADDRS);
	if (!n)
		n = host_addrs(item, a, ADDRS);
	if (!n)
		storm_log_from(&from, STORM_LOG_WARN,
			       "AllowHosts: host %s has no address", item);
	for (int i = 0; i < n; i++)
		if (storm_addr_is_loopback(&a[i]) && storm_addr_is_v4(&a[i]))
			allow_this_host(&a[i]);
		else
			allow_addr_add(&a[i], 8 * STORM_ADDR_LEN);
}

static void allow_hosts_read(const char *list)
{
	struct hostlist *hl = hostlist_create(list);
	char *item;

	hosts.nets = 0;
	while (hl && (item = hostlist_shift(hl))) {
		allow_net_add(item);
		free(item);
	}
	if (hl)
		hostlist_destroy(hl);
}

static bool allow_net_has(const struct allow_net *n, const struct storm_addr *a)
{
	int bytes = n->bits / 8, rest = n->bits % 8;

	return !memcmp(n->ip, a->ip, (size_t) bytes) &&
	       (!rest || !((n->ip[bytes] ^ a->ip[bytes]) >> (8 - rest)));
}

bool agent_allow_host(const char *list, const struct storm_addr *host)
{
	uint64_t now = storm_now();

	if (!*list)
		return true;
	if (!hosts.at || now >= hosts.at + AGAIN) {
		hosts.at = now;
		allow_hosts_read(list);
	}
	for (int i = 0; i < hosts.nets; i++)
		if (allow_net_has(&hosts.net[i], host))
			return true;
	return false;
}
