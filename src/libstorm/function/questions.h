/*
 * questions.h - finds by COMPARE-AND-WRITE on which nodes a relation holds.  If
 * it holds on all of them, one question is enough; otherwise the set is halved
 * (paper section 2.4.3).  A node that does not answer is not asked again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_QUESTIONS_H
#define STORM_QUESTIONS_H

#include "src/libstorm/base/clock.h"
#include "src/libstorm/storm.h"

/* How long a question waits, in ns.  It is repeated four times a second at
 * least.  So a node that sends signs of life, and does not answer in this time,
 * does not hear it. */
#define QUESTIONS_PATIENCE (2 * STORM_SEC)

/* Compare a variable of the nodes P with value, as storm_compare_and_write()
 * does; unit tests have their own. */
typedef enum storm_compare (*questions_ask_fn)(void *arg,
					       const struct storm_idset *P,
					       enum storm_relation rel,
					       uint64_t value,
					       struct storm_outcome *out);

/* The caller sets ask, arg and left, leaves the rest zero, and clears mute at
 * the end. */
struct questions {
	questions_ask_fn ask;
	void *arg;
	unsigned int left;	 /* how many questions may be asked */
	struct storm_idset mute; /* nodes that did not answer */
	unsigned int asked;	 /* how many were asked */
};

/* Does the relation hold on all nodes of P?  1 or 0; -1: no node answers, or no
 * questions are left.  Nodes that do not answer are taken out of P. */
int questions_is_so(struct questions *q, struct storm_idset *P,
		    enum storm_relation rel, uint64_t value);

/*
 * Add to *not the nodes of P on which the relation is false; to *unknown those
 * of which that is not known, because no questions are left.  Nodes that do not
 * answer are in q->mute.  P is changed.  STORM_OK or an error.
 */
int questions_find(struct questions *q, struct storm_idset *P,
		   enum storm_relation rel, uint64_t value,
		   struct storm_idset * not, struct storm_idset *unknown);

/* Set *out, which must be empty, to the first half of P, or the second one.
 * STORM_OK or STORM_ENOMEM. */
int questions_half(const struct storm_idset *P, bool second,
		   struct storm_idset *out);

#endif
