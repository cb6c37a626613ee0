/*
 * addr.c - see addr.h; storm_addr_set().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <string.h>

#include "addr.h"

int storm_addr_set(struct storm_addr *a, const char *ip, uint16_t port)
{
	struct in_addr v4;

	if (inet_pton(AF_INET, ip, &v4) != 1)
		return STORM_EINVAL;
	memset(a, 0, sizeof(*a));
	memset(a->ip + 10, 0xff, 2); /* mapped into IPv6 */
	memcpy(a->ip + 12, &v4, sizeof(v4));
	a->port = port;
	return STORM_OK;
}

bool storm_addr_is_v4(const struct storm_addr *a)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(a->ip, v4, sizeof(v4));
}

bool storm_addr_is_loopback(const struct storm_addr *a)
{
	if (storm_addr_is_v4(a))
		return a->ip[12] == 127;
	return !memcmp(a->ip, &in6addr_loopback, sizeof(a->ip));
}
