/*
 * agent_neighbours.c - see agent_neighbours.h.  A socket that sends a datagram is
 * not told of it.  So the agent looks at the kernel's counter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm.h"
#include "src/common/log.h"

#include "agent_neighbours.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/transport/udp/udp_neighbours.h"
#include "src/storm_agent/agent.h"

#define LOOK_EVERY (5 * STORM_SEC)
#define QUIET_AFTER (60 * STORM_SEC) /* without a discarded packet */

static void neighbours_full(struct agent_neighbours *k,
			    const struct storm_neighbours *n, uint64_t now)
{
	if (!k->full_at)
		error("the kernel has room for %u neighbours, needs more, and discards packets to further hosts: raise net.ipv4.neigh.default.gc_thresh2 and gc_thresh3",
		      n->most);
	k->full_at = now;
}

uint64_t agent_neighbours_tick(struct agent *a, uint64_t now)
{
	struct agent_neighbours *k = &a->neighbours;
	struct storm_neighbours n;

	if ((k->looked && !a->sessions) || now < k->look_at)
		return STORM_NEVER;
	k->look_at = now + LOOK_EVERY;
	if (storm_udp_neighbours(&n))
		return STORM_NEVER;
	/* what was before the first look is history */
	if (k->looked && n.fulls > k->fulls) {
		neighbours_full(k, &n, now);
	} else if (k->full_at && now >= k->full_at + QUIET_AFTER) {
		info("the kernel discards no packets for want of neighbours any more");
		k->full_at = 0;
	}
	k->fulls = n.fulls;
	k->looked = true;
	return STORM_NEVER;
}
