/*
 * udp_neighbours.h - the kernel's table of neighbours (ARP), of which a machine
 * has one for all network namespaces.  Where it is full the kernel discards
 * packets to further hosts, and tells no sender.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_UDP_NEIGHBOURS_H
#define STORM_UDP_NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>

struct storm_neighbours {
	uint32_t entries, most; /* most: gc_thresh3 */
	uint64_t fulls;		/* so often it was full, since boot */
};

/* How it is now.  0, or -1 and errno; then *out is zero. */
int storm_udp_neighbours(struct storm_neighbours *out);
/* Was it full, and is it about to be full again?  Then hosts that do not answer
 * may be there. */
bool storm_udp_neighbours_short(const struct storm_neighbours *n);

#endif
