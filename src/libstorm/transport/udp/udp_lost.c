/*
 * udp_lost.c - do packets get lost here?  TCP shows it, as it repeats them.  One peer alone
 * may have a fault, or be busy.  So the last UDP_LOST_MANY connections that lost some must
 * be recent, and not all to the same peer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <netinet/tcp.h>

#include "src/libstorm/base/clock.h"
#include "udp_private.h"

#define LOST_WITHIN (10 * STORM_SEC)

uint32_t storm_udp_repeated(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return 0;
	return info.tcpi_total_retrans;
}

void storm_udp_lost(struct udp_lost *l, struct in_addr peer, uint64_t now)
{
	l->last[l->next].peer = peer;
	l->last[l->next].at = now;
	l->next = (l->next + 1) % UDP_LOST_MANY;
}

bool storm_udp_is_lossy(const struct udp_lost *l, uint64_t now)
{
	bool others = false;

	for (uint32_t i = 0; i < UDP_LOST_MANY; i++) {
		if (!l->last[i].at || now > l->last[i].at + LOST_WITHIN)
			return false;
		others |= l->last[i].peer.s_addr != l->last[0].peer.s_addr;
	}
	return others;
}
