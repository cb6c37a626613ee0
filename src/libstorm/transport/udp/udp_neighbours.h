/*
 * udp_neighbours.h - the kernel's table of neighbours (ARP).  A machine has one
 * for all its network namespaces.  While it is full, the kernel discards
 * packets to further hosts, and no sender learns of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_UDP_NEIGHBOURS_H
#define STORM_UDP_NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>

struct storm_neighbours {
	uint32_t entries, most; /* most: gc_thresh3 */
	uint64_t fulls;		/* how often it was full since boot */
};

/* Read the table's present state.  0, or -1 and errno; then *out is zero. */
int storm_udp_neighbours(struct storm_neighbours *out);
/* Was it full, and is it about to be full again?  If so, hosts that do not
 * answer may yet be there. */
bool storm_udp_neighbours_short(const struct storm_neighbours *n);

#endif
