/*
 * addr.c - addresses as text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <string.h>

#include "src/libstorm/storm.h"

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
