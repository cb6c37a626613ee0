/*
 * udp_join.c - join the multicast groups again.  The kernel tells switches only when
 * the first of its sockets joins a group, and repeats that only when an IGMP querier
 * asks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "udp_private.h"

static void udp_group_option(struct storm_udp *u, int option)
{
	for (uint32_t i = 0; i < u->groups; i++) {
		const struct udp_iface *at =
			u->group[i].kind == UDP_RAIL ? &u->rail : &u->iface;
		struct ip_mreqn m = { .imr_multiaddr = u->group_addr[i],
				      .imr_address = at->addr,
				      .imr_ifindex = at->index };

		/* one that it has left already is joined all the same */
		setsockopt(u->group[i].fd, IPPROTO_IP, option, &m, sizeof(m));
	}
}

void storm_udp_join_again(struct storm_transport *t)
{
	struct storm_udp *u = (struct storm_udp *) t;

	storm_udp_strobe_join(u, false);
	udp_group_option(u, IP_DROP_MEMBERSHIP);
	udp_group_option(u, IP_ADD_MEMBERSHIP);
	storm_udp_strobe_join(u, true);
}
