/*
 * unwell.h - finds the nodes that are not well.  Each says so by an own variable
 * (health_word.h).  One COMPARE-AND-WRITE asks all of them whether all are as they were
 * (paper section 2.4.1).  If not, the set is halved until those are found that have
 * changed (2.4.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_UNWELL_H
#define STORM_UNWELL_H

#include "src/libstorm/function/questions.h"
#include "src/storm_common/strober_protocol.h"

/*
 * Update value[] of the nodes `in`, with at most so many questions.  What cannot be found
 * stays as it is, and so does a node that does not answer.  Returns how many were asked:
 * one for each value that some nodes have, while none changes.
 */
unsigned int unwell_round(uint64_t *value, uint32_t nodes,
			  const struct storm_idset *in, unsigned int questions,
			  questions_ask_fn ask, void *arg);

/* ------------------------------------------------------ the strober's --- */

/*
 * Start a thread that asks every `period` ns.  inside() sets *in, which is empty, to the
 * members that are not silent; it returns STORM_OK or an error.  The thread calls wake()
 * when unwell_changed() is true.  Returns 0 or an errno.  Call unwell_stop() before the
 * domain is destroyed; it waits for the answer to a question.
 */
int unwell_start(storm_domain_t *d, uint32_t nodes, uint64_t period,
		 int (*inside)(struct storm_idset *in), void (*wake)(void));
void unwell_stop(void);

/* Is one more node not well than at the last call, or one less, or of another cause? */
bool unwell_changed(void);
/* Add those nodes to the n entries of the list, ascending, as STROBER_UNWELL, but for
 * nodes that are there already.  It has room for all nodes.  Returns how many there are
 * then. */
uint32_t unwell_get(struct strober_failed *list, uint32_t n);

#endif
