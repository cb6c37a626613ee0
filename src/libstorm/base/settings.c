/*
 * settings.c - the defaults of storm.conf, for a LAN.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "clock.h"
#include "src/libstorm/storm.h"

void storm_settings_default(struct storm_settings *set)
{
	memset(set, 0, sizeof(*set));
	set->transport = STORM_TRANSPORT_UDP;
	set->transport_fallback = true;
	set->gid_index = set->strobe_gid_index = -1;
	/* 4 MiB with 4096-byte packets: the bandwidth-delay product of
	 * 100 Gbit/s and 300 us.  rdma_rxe and small adapters allow it. */
	set->recv_depth = set->strobe_recv_depth = 1024;
	set->port = 8383;
	set->multicast = true;
	set->multicast_timeout = 60 * STORM_MS;
	/* 239.192.0.0/14 is the organization-local scope (RFC 2365) */
	memset(set->group.ip + 10, 0xff, 2);
	set->group.ip[12] = 239;
	set->group.ip[13] = 192;
	set->group.ip[14] = 83;
	set->group.port = set->port;
	set->groups = 16;
	set->ttl = 1;
	set->dscp = 8;		/* CS1: yields to everything else */
	set->dscp_control = 48; /* CS6: network control */
	set->radix = 8;
	set->window = 16 << 20;
	set->socket_buffer = 32 << 20;
	set->open_timeout = 5 * STORM_SEC;
	set->dead_timeout = 5 * STORM_SEC;
	set->op_timeout = 20 * STORM_SEC;
	set->heartbeat = 1 * STORM_SEC;
	set->sessions_max = 256;
	set->user_sessions_max = 128;
	/* more than a launch message of 16 MiB */
	set->memory_max = 40 << 20;
	set->user_memory_max = 20 << 20;
}
