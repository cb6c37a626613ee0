/*
 * questions.h - find by COMPARE-AND-WRITE of which nodes a relation holds.  While it
 * holds of all one question is enough; otherwise the set is halved (paper section
 * 2.4.3).  A node that does not answer is not asked again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_QUESTIONS_H
#define STORM_QUESTIONS_H

#include "src/libstorm/base/clock.h"
#include "src/libstorm/storm.h"

/* A node that sends signs of life, and does not answer a question for so long, though
 * it is asked again four times a second at least, does not hear it. */
#define QUESTIONS_PATIENCE (2 * STORM_SEC)

/* Compare a variable of the nodes P with value, as storm_compare_and_write()
 * does; unit tests have their own. */
typedef enum storm_compare (*questions_ask_fn)(void *arg,
					       const struct storm_idset *P,
					       enum storm_relation rel,
					       uint64_t value,
					       struct storm_outcome *out);

/* Initialize what follows `mute` to zeroes; clear mute at the end. */
struct questions {
	questions_ask_fn ask;
	void *arg;
	unsigned int left;	 /* how many may be asked */
	struct storm_idset mute; /* nodes that do not answer */
	unsigned int asked;
};

/* Does the relation hold at all nodes of P?  1 or 0; -1: no node answers, or no
 * questions are left.  Nodes that do not answer leave P. */
int questions_is_so(struct questions *q, struct storm_idset *P,
		    enum storm_relation rel, uint64_t value);

/*
 * Of which nodes of P, which is changed, is the relation false?  Add them to *not;
 * those of which that is not known, as no questions are left, to *unknown.  Nodes that
 * do not answer are in q->mute.  0 or an error.
 */
int questions_find(struct questions *q, struct storm_idset *P,
		   enum storm_relation rel, uint64_t value,
		   struct storm_idset * not, struct storm_idset *unknown);

/* The first half of P, or the second one, into the empty *out.  0 or an error. */
int questions_half(const struct storm_idset *P, bool second,
		   struct storm_idset *out);

#endif
