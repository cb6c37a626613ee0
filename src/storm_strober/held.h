/*
 * held.h - finds whether held jobs stand on their nodes.  Each node raises an
 * own variable to the number of the last strobe after which all of them stood
 * there, as its kernel says (agent_gang_held.c).  COMPARE-AND-WRITE asks all of
 * these nodes at once (paper section 2.4.1), again and again, and each time
 * about a later strobe.  So a node that cannot prove it any more no longer
 * counts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_HELD_H
#define STORM_HELD_H

#include "src/libstorm/function/questions.h"
#include "src/storm_common/gang_map.h"

/* Add to *loose the nodes of P whose variable is below `number`, and those of
 * which that is not known after so many questions.  0 or ENOMEM. */
int held_round(const struct storm_idset *P, uint64_t number,
	       unsigned int questions, questions_ask_fn ask, void *arg,
	       struct storm_idset *loose);

/* Set *out, which must be empty, to the nodes of the map's held jobs.  0 or
 * ENOMEM. */
int held_nodes(const struct gang_map *m, struct storm_idset *out);

/* ------------------------------------------------------ the strober's --- */

/*
 * Start a thread that asks while jobs are held.  number() is the last strobe's;
 * 0: there is none yet.  The thread calls wake() when held_get() has something
 * new.  Returns 0 or an errno.  Call held_stop() before the domain is
 * destroyed; it waits for the answer to a question.
 */
int held_start(storm_domain_t *d, uint64_t (*number)(void), void (*wake)(void));
void held_stop(void);

/* From now on strobes go by this map.  nodes: those of held_nodes(), which are
 * taken over and left empty. */
void held_map(uint64_t version, struct storm_idset *nodes);

/* Another strober may have had the domain: forget what nodes have proved. */
void held_again(void);

/*
 * Get what is known.  *force: the version of the map that strobes go by; 0:
 * none.  *proof: the version of the map whose held jobs stand on all nodes but
 * *loose, which the caller clears; 0: that is known of no map.  True: this is
 * new since the last call.
 */
bool held_get(uint64_t *force, uint64_t *proof, struct storm_idset *loose);

#endif
