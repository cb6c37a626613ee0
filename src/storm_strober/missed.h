/*
 * missed.h - finds how many strobes each node has missed.  Every node counts
 * them in an own variable, and COMPARE-AND-WRITE finds the counts that have
 * risen (paper section 2.4.3: find the nodes that missed a heartbeat).  While
 * no node misses any, one question to all nodes is enough.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_MISSED_H
#define STORM_MISSED_H

#include "src/libstorm/function/questions.h"

/*
 * Update count[] of the nodes 0 to nodes - 1 with at most that many questions.
 * A count that cannot be found stays as it is.  *first is the node at which the
 * round begins; the caller keeps it for the next one.  A node that does not
 * answer is not asked again in this round, and is added to *mute, which must be
 * empty.  Returns how many questions were asked.
 */
unsigned int missed_round(uint64_t *count, uint32_t nodes, uint32_t *first,
			  unsigned int questions, questions_ask_fn ask,
			  void *arg, struct storm_idset *mute);

/* ------------------------------------------------------ the strober's --- */

/* What is new of a member. */
enum missed_what {
	MISSED_BACK, /* it hears strobes again, or none are sent */
	MISSED_GONE, /* it was said to hear none, and that is not known now */
	MISSED_DEAF, /* it hears none, and answers questions */
	MISSED_MUTE, /* it hears nothing at all: it answers no question */
};

struct missed_ops {
	/* The number of the last strobe; 0: none is sent now. */
	uint64_t (*number)(void);
	/* Sets *in, which is empty, to the members that are not silent.
	 * STORM_OK or an error. */
	int (*inside)(struct storm_idset *in);
	/* Called with what is new of a member.  MISSED_DEAF and MISSED_MUTE
	 * come again as long as they hold. */
	void (*tell)(uint32_t node, enum missed_what what);
};

/*
 * Start a thread that runs a round every few seconds while strobes are sent,
 * and finds members that hear none (deaf.h).  Returns 0 or an errno.  Call
 * missed_stop() before the domain is destroyed; it waits for the answer to a
 * question.
 */
int missed_start(storm_domain_t *d, uint32_t nodes,
		 const struct missed_ops *ops);
void missed_stop(void);
/* Copy the counts of the first `nodes` nodes.  False: the thread does not run,
 * or has fewer nodes. */
bool missed_get(uint64_t *count, uint32_t nodes);
/* A map waits for nodes, or does not any more.  While none is strobed, too, it is found
 * then which members answer no question. */
void missed_map_waits(bool waits);
/* Add the members that answer no question, and are not silent, to *out: mute.h. */
void missed_mute(bool twice, struct storm_idset *out);
/* A node has become overdue, or is back. */
void missed_node_moved(uint32_t node);
/* Another epoch begins. */
void missed_epoch_begins(void);

#endif
