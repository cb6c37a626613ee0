/*
 * crew.h - threads that share out equal pieces of work, where one core is too
 * slow for it: sealing and unsealing at the rate of a fast adapter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CREW_H
#define STORM_CREW_H

#include <stddef.h>

#define STORM_CREW_MAX 8	/* with the caller */

struct storm_crew;

/* Of so many, the caller being one: 2 to STORM_CREW_MAX.  NULL: there is no memory,
 * or no thread can be had. */
struct storm_crew *storm_crew_start(unsigned int size);
void storm_crew_stop(struct storm_crew *c);	/* NULL is fine */

/*
 * work(arg, who, i) once for each i below n, in any order, by any of them: who is
 * 0 for the caller, and below the crew's size.  Returns when all is done.  One
 * caller at a time.
 */
void storm_crew_run(struct storm_crew *c,
		    void (*work)(void *arg, unsigned int who, size_t i),
		    void *arg, size_t n);

#endif
