/*
 * udp_join.c - join the multicast groups again.  The kernel tells switches only when
 * the first of its sockets joins a group, and repeats that only when an IGMP querier
 * asks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "udp_private.h"

/* One that it has left already is joined all the same. */
static void udp_join_all(struct storm_udp *u, int option)
{
	for (uint32_t i = 0; i < u->groups; i++)
		storm_udp_membership(u->group[i].fd,
				     u->group[i].kind == UDP_RAIL ? &u->rail :
								    &u->iface,
				     u->group_addr[i], option);
}

void storm_udp_join_again(struct storm_transport *t)
{
	struct storm_udp *u = (struct storm_udp *) t;

	storm_udp_strobe_join(u, false);
	udp_join_all(u, IP_DROP_MEMBERSHIP);
	udp_join_all(u, IP_ADD_MEMBERSHIP);
	storm_udp_strobe_join(u, true);
}
