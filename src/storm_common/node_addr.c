/*
 * node_addr.c - from Slurm's addresses to libstorm's: see node_addr.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <netinet/in.h>
#include <string.h>

#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"

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
