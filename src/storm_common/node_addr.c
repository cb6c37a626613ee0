/*
 * node_addr.c - from Slurm's addresses to libstorm's: see node_addr.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>

#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"

#include "node_addr.h"
#include "node_list.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/base/thread.h"

/* After so many it is known how long one takes: from 20 us, a number, to some ms,
 * where a server answers.  Then a thread starts for each THREAD_WORTH of what is
 * left.  Most of them wait, so there may be more than processors.  The first takes
 * longer than others, and is not timed. */
#define LOOKUPS_TIMED 3
#define THREAD_WORTH (500 * STORM_US)
#define THREADS_MAX 32

/* What the threads share. */
struct node_lookup {
	struct storm_node *nodes;
	uint32_t count;
	uint16_t port;
	atomic_uint next;   /* to look up */
	atomic_uint failed; /* count: none */
};

bool node_addr_of_slurm(const slurm_addr_t *in, struct storm_addr *out)
{
	memset(out, 0, sizeof(*out));
	if (in->ss_family == AF_INET) {
		const struct sockaddr_in *v4 = (const void *) in;

		out->ip[10] = out->ip[11] = 0xff;
		memcpy(out->ip + 12, &v4->sin_addr, 4);
		return true;
	}
	if (in->ss_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const void *) in;

		memcpy(out->ip, &v6->sin6_addr, 16);
		return true;
	}
	return false;
}

/* Slurm waits for the name service with slurm.conf locked: one at a time. */
static bool node_addr_locked(const char *name, slurm_addr_t *addr)
{
	return !slurm_conf_get_addr((char *) name, addr, USE_BCAST_NETWORK);
}

/* What a name service is to be asked for (xfree).  NULL: only Slurm can tell,
 * because slurmctld has said where it is, or this process's slurm.conf is older
 * than the node. */
static char *node_addr_text(const char *name)
{
	char *text = node_list_address(name);

	if (text && strcmp(text, name))
		return text;
	xfree(text);
	text = slurm_conf_get_bcast_address(name);
	return text ? text : slurm_conf_get_address(name);
}

static bool node_addr(const char *name, uint16_t port, struct storm_addr *out)
{
	struct storm_addr a;
	char *text = node_addr_text(name);
	slurm_addr_t addr = { 0 };

	if (!text && !node_addr_locked(name, &addr)) {
		text = node_list_address(name);
		if (!text)
			return false;
	}
	if (text)
		slurm_set_addr(&addr, port, text);
	xfree(text);
	if (!node_addr_of_slurm(&addr, &a))
		return false;
	*out = a;
	out->port = port;
	return true;
}

static void node_addr_until(struct node_lookup *l, uint32_t end)
{
	uint32_t i;

	while (l->failed == l->count && l->next < end && (i = l->next++) < end)
		if (!l->nodes[i].addr.port &&
		    !node_addr(l->nodes[i].name, l->port, &l->nodes[i].addr))
			l->failed = i;
}

static void *node_addr_rest(void *arg)
{
	struct node_lookup *l = arg;

	node_addr_until(l, l->count);
	return NULL;
}

/* How many threads beside this one are worth it. */
static uint32_t node_addr_threads(uint32_t left, uint64_t timed)
{
	uint64_t n = left * (timed / LOOKUPS_TIMED) / THREAD_WORTH;

	return (uint32_t) storm_min(storm_min(n, left), THREADS_MAX);
}

uint32_t node_addr_all(struct storm_node *nodes, uint32_t count, uint16_t port)
{
	struct node_lookup l = {
		.nodes = nodes, .count = count, .port = port, .failed = count
	};
	uint32_t first = (uint32_t) storm_min(count, 1 + LOOKUPS_TIMED);
	uint32_t n = 0, most;
	pthread_t thread[THREADS_MAX];
	uint64_t began;

	node_addr_until(&l, first ? 1 : 0);
	began = storm_now();
	node_addr_until(&l, first);
	most = node_addr_threads(count - first, storm_now() - began);
	while (n < most && !storm_thread_start(&thread[n], node_addr_rest, &l))
		n++;
	node_addr_rest(&l);
	while (n)
		pthread_join(thread[--n], NULL);
	return l.failed;
}

/* A name service may have several, and in another order every time. */
int host_addrs(const char *host, struct storm_addr *out, int max)
{
	const struct addrinfo want = { .ai_family = AF_UNSPEC,
				       .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	int n = 0;

	if (getaddrinfo(host, NULL, &want, &list))
		return 0;
	for (const struct addrinfo *p = list; p && n < max; p = p->ai_next) {
		slurm_addr_t addr = { 0 };

		memcpy(&addr, p->ai_addr, p->ai_addrlen);
		n += node_addr_of_slurm(&addr, &out[n]);
	}
	freeaddrinfo(list);
	return n;
}

int node_addrs(const char *name, struct storm_addr *out, int max)
{
	char *host = node_addr_text(name);
	int n;

	/* Slurm would ask again for 10 s */
	n = host ? host_addrs(host, out, max) :
		   max > 0 && node_addr(name, 0, out);
	xfree(host);
	return n;
}
