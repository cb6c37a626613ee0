/*
 * held.h - do held jobs stand on their nodes?  Each node raises a variable of its own
 * to the last strobe after which they all stood, by its kernel's word
 * (agent_gang_held.c).  COMPARE-AND-WRITE asks all of these nodes at once (paper
 * section 2.4.1), again and again, and each time about a later strobe: a node
 * that ceases to prove it no longer counts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_HELD_H
#define STORM_HELD_H

#include "questions.h"
#include "src/storm_common/gang_map.h"

/* Add to *loose the nodes of P whose variable is below `number`, or of which that
 * cannot be found with so many questions.  0 or ENOMEM. */
int held_round(const struct storm_idset *P, uint64_t number,
	       unsigned int questions, questions_ask_fn ask, void *arg,
	       struct storm_idset *loose);

/* The nodes of the map's held jobs, into the empty *out.  0 or ENOMEM. */
int held_nodes(const struct gang_map *m, struct storm_idset *out);

/* ------------------------------------------------------ the strober's --- */

/*
 * Start a thread that asks while jobs are held.  number() is the last strobe's;
 * 0: there is none yet.  wake() is called when held_get() has something new.  Returns 0 or an errno.  Call
 * held_stop() before the domain is destroyed; it waits for the answer to a question.
 */
int held_start(storm_domain_t *d, uint64_t (*number)(void), void (*wake)(void));
void held_stop(void);

/* From now on strobes are by this map.  *nodes is taken over and left empty: those of
 * held_nodes(). */
void held_map(uint64_t version, struct storm_idset *nodes);

/* Another strober may have had the domain: what nodes have proved since is void. */
void held_again(void);

/*
 * What is known.  *force: the map by which strobes are, 0: none.  *proof: the map whose
 * held jobs stand everywhere but on the nodes *loose, which the caller clears; 0: not
 * known of any.  True: it is new.
 */
bool held_get(uint64_t *force, uint64_t *proof, struct storm_idset *loose);

#endif
