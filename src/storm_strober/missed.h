/*
 * missed.h - how many strobes each node has missed.  Every node counts them in
 * an own variable, and COMPARE-AND-WRITE finds the counts that have risen
 * (paper section 2.4.3: find the nodes that missed a heartbeat).  While no node
 * misses any, one question to all nodes is enough.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_MISSED_H
#define STORM_MISSED_H

#include "questions.h"

/*
 * Update count[] of the nodes 0 to nodes - 1 with at most that many questions.
 * A count that cannot be found stays as it is.  A node that does not answer is
 * not asked again in this round.  *first is the node at which the round begins;
 * the caller keeps it for the next one.  Into the empty *mute: the nodes that do not
 * answer.  Returns how many questions were asked.
 */
unsigned int missed_round(uint64_t *count, uint32_t nodes, uint32_t *first,
			  unsigned int questions, questions_ask_fn ask,
			  void *arg, struct storm_idset *mute);

/* ------------------------------------------------------ the strober's --- */

/*
 * Start a thread that runs a round every few seconds while strobes are sent, and finds
 * members that hear none (deaf.h).  Returns 0 or an errno.  Call missed_stop() before
 * the domain is destroyed.  It waits for the answer to a question.
 */
enum missed_what {
	MISSED_BACK, /* it hears strobes again, or none are sent */
	MISSED_GONE, /* it was said to hear none, and that is not known now */
	MISSED_DEAF, /* it hears none, and answers questions */
	MISSED_MUTE, /* it hears nothing at all: it answers no question */
};

struct missed_ops {
	/* The number of the last strobe; 0: none is sent now. */
	uint64_t (*number)(void);
	/* Which members are not silent, into the empty *in.  0 or an error. */
	int (*inside)(struct storm_idset *in);
	/* What is new of a member; that it hears none, also again. */
	void (*tell)(uint32_t node, enum missed_what what);
};

int missed_start(storm_domain_t *d, uint32_t nodes,
		 const struct missed_ops *ops);
void missed_stop(void);
/* Copy the counts of the first `nodes` nodes.  False: the thread does not run,
 * or has fewer nodes. */
bool missed_get(uint64_t *count, uint32_t nodes);
/* Add the members that answer no question, and are not silent, to *out. */
void missed_mute(struct storm_idset *out);

#endif
