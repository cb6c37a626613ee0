/*
 * node_addr.c - from Slurm's addresses to libstorm's: see node_addr.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"

#include "node_addr.h"

static bool node_addr_convert(const slurm_addr_t *in, struct storm_addr *out)
{
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

bool node_addr(const char *name, uint16_t port, struct storm_addr *out)
{
	struct storm_addr a = { .port = port };
	slurm_addr_t addr;

	if (slurm_conf_get_addr((char *) name, &addr, USE_BCAST_NETWORK) ||
	    !node_addr_convert(&addr, &a))
		return false;
	*out = a;
	return true;
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
		out[n] = (struct storm_addr) { 0 };
		n += node_addr_convert(&addr, &out[n]);
	}
	freeaddrinfo(list);
	return n;
}

int node_addrs(const char *name, struct storm_addr *out, int max)
{
	char *host = slurm_conf_get_bcast_address(name);
	int n;

	if (!host)
		host = slurm_conf_get_nodeaddr(name);
	n = host ? host_addrs(host, out, max) : 0;
	xfree(host);
	return n ? n : max > 0 && node_addr(name, 0, out);
}
