/*
 * missed.h - how many strobes each node has missed, at human rates: every node
 * counts them in an own variable, and COMPARE-AND-WRITE finds which of those have
 * risen (paper section 2.4.3: who missed a heartbeat).  As long as nobody misses
 * any, that is one question to all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_MISSED_H
#define STORM_MISSED_H

#include "src/libstorm/storm.h"

/* storm_compare_and_write() of a count, or a test's. */
typedef enum storm_compare (*missed_ask_fn)(void *arg,
					    const struct storm_idset *P,
					    enum storm_relation rel,
					    uint64_t value,
					    struct storm_outcome *out);

/*
 * Bring the counts of nodes up to date, from what they were, by at most that many
 * questions.  What is not known in the end stays as it was, and who does not answer
 * is asked no more: next time.  *first, for the caller to keep, is where the next
 * round begins.  How many were asked.
 */
unsigned int missed_round(uint64_t *count, uint32_t nodes, uint32_t *first,
			  unsigned int questions, missed_ask_fn ask,
			  void *arg);

/* ------------------------------------------------------ the strober's --- */

/*
 * A thread that does so every few seconds, while shared() says that strobes are
 * sent.  missed_stop() must come before the domain's end, and waits for the answer
 * to a question, so for as long as a node takes to be missed.  0 or an errno.
 */
int missed_start(storm_domain_t *d, uint32_t nodes, bool (*shared)(void));
void missed_stop(void);
/* The counts, of so many nodes; false: there are none. */
bool missed_get(uint64_t *count, uint32_t nodes);

#endif
