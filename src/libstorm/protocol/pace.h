/*
 * pace.h - datagrams sealed, or opened, as fast as the network takes and brings
 * them: by one core as long as that keeps up, by several where it is seen not to,
 * and several are faster.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PACE_H
#define STORM_PACE_H

#include "src/libstorm/wire/seal.h"

/* Of one of the two.  All zeroes to begin with. */
struct storm_pace {
	uint64_t bytes, ns;	/* what is being measured */
	uint64_t alone;		/* bytes/s of one core; 0: not known yet */
	bool tried;		/* it is known whether a crew is faster */
	struct storm_crew *crew;	/* NULL: one core */
};

/* As storm_seal_all().  speed: bytes a second that the network takes; 0: it is not
 * known, and one core has to do. */
int storm_pace_seal(struct storm_pace *p, uint64_t speed, struct storm_seal *s,
		    const struct storm_piece *piece, size_t n);
/* As storm_seal_open_all(), likewise. */
void storm_pace_open(struct storm_pace *p, uint64_t speed, struct storm_seal *s,
		     struct storm_sealed *d, size_t n);
void storm_pace_end(struct storm_pace *p);

#endif
