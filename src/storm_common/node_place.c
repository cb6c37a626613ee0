/*
 * node_place.c - see node_place.h.
 *
 * The address is the node's BcastAddr, or its NodeAddr, if an interface here has
 * it.  Many hosts give their own name a loopback address, and slurmctld alone
 * knows where a cloud node is.  Then the route to another node shows the way.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/hostlist.h"
#include "src/common/read_config.h"
#include "src/common/xstring.h"

#include "node_addr.h"
#include "node_place.h"
#include "src/libstorm/base/addr.h"
#include "src/libstorm/transport/udp/udp.h"

#define ADDRS 16 /* of one name */
/* So many other nodes are looked up: some may have no address. */
#define OTHERS 3

static bool place_same(const struct storm_addr *a, const struct storm_addr *b)
{
	return !memcmp(a->ip, b->ip, sizeof(a->ip));
}

/* Others can reach it, and it is an interface's of this host. */
static bool place_is_here(const struct storm_addr *a)
{
	struct storm_addr source;

	return !storm_addr_is_loopback(a) && storm_udp_source(a, &source) &&
	       place_same(a, &source);
}

/* Names of other nodes (free), at most OTHERS; returns how many. */
static int place_others(const char *node, char *name[static OTHERS])
{
	slurm_conf_node_t **line;
	int lines, n = 0;

	slurm_conf_lock();
	lines = slurm_conf_nodename_array(&line);
	for (int i = 0; i < lines && n < OTHERS; i++) {
		struct hostlist *hl = hostlist_create(line[i]->nodenames);
		char *one;

		while (hl && n < OTHERS && (one = hostlist_shift(hl)))
			if (!xstrcmp(one, node))
				free(one);
			else
				name[n++] = one;
		if (hl)
			hostlist_destroy(hl);
	}
	slurm_conf_unlock();
	return n;
}

/* Where the route to another node begins. */
static bool place_towards(const char *node, struct storm_addr *out)
{
	struct storm_addr a[ADDRS];
	char *name[OTHERS];
	int names = place_others(node, name);
	bool found = false;

	for (int i = 0; i < names; i++) {
		int n = found ? 0 : node_addrs(name[i], a, ADDRS);

		for (int k = 0; k < n && !found; k++)
			found = storm_udp_source(&a[k], out) &&
				!place_same(&a[k], out) &&
				!storm_addr_is_loopback(out);
		free(name[i]);
	}
	return found;
}

/* A name service may have addresses of which each host has one, that of a bridge
 * for containers for example. */
bool node_place_find(const char *node, struct storm_addr *out)
{
	struct storm_addr a[ADDRS], towards;
	int n = node ? node_addrs(node, a, ADDRS) : 0, here = 0;

	for (int i = 0; i < n; i++)
		if (place_is_here(&a[i]))
			a[here++] = a[i];
	if (here)
		*out = a[0];
	if (here == 1 || !place_towards(node, &towards))
		return here > 0;
	for (int i = 0; i < here; i++)
		if (place_same(&a[i], &towards))
			*out = a[i];
	if (!here)
		*out = towards;
	return true;
}
