/*
 * status_facts.h - what an answer of the agents says: its words and counters, who is
 * silent, and what is wrong.  Without Slurm and I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STATUS_FACTS_H
#define STORM_STATUS_FACTS_H

#include "status_ask.h"

/* Another host's words, in printable ASCII. */
struct status_word {
	char text[STORM_GATHER_DATA + 1];
};

/* A value; a key. */
struct status_word status_word_of(const struct storm_gather_entry *e);
struct status_word status_key_of(const struct storm_gather_entry *e);

bool status_is_key(const struct storm_gather_entry *e, const char *key);
/* Is it a value with this key? */
bool status_is_value(const struct storm_gather_entry *e, const char *key);
/* Does it count fallbacks of one cause? */
bool status_is_fallback(const struct storm_gather_entry *e);
/* The sum of these. */
uint64_t status_fallbacks(const struct status_answer *a);
/* The counter with this key; NULL: none. */
const struct storm_gather_entry *status_counter(const struct status_answer *a,
						const char *key);
/* How many builds there are. */
uint32_t status_builds(const struct status_answer *a);
/* The newest epoch that nodes have heard of; 0: none.  What is above most is no epoch. */
uint64_t status_epoch(const struct status_answer *a, uint64_t most);
/* That of a value with the key STATE_EPOCH. */
uint64_t status_epoch_of(const struct storm_gather_entry *e);
/* Has one of these agents begun anew?  Each one's age grows as fast as the clock.  was, is:
 * the sums of their ages, s; ms: the least time between the two, less the caller's slack;
 * below 0 it tells nothing. */
bool status_anew(uint64_t was, uint64_t is, uint64_t agents, int64_t ms);
/* The name of the node that was asked as this one; "?": none was. */
const char *status_name(const struct status_nodes *n,
			const struct status_answer *a, uint32_t asked);
/* That of the first node with this value. */
const char *status_first_name(const struct status_nodes *n,
			      const struct status_answer *a,
			      const struct storm_gather_entry *e);
/* The names of some of the nodes that were asked, folded (free).  NULL: no memory. */
char *status_names_of(const struct status_nodes *n,
		      const struct status_answer *a,
		      const struct storm_idset *set);

/* How many nodes are silent. */
uint32_t status_silent(const struct status_nodes *n);
/* Call back with each reason of silent nodes, and the names of those that have it. */
void status_each_silent(const struct status_nodes *n, uint16_t port,
			void (*tell)(void *arg, const char *names,
				     const char *why),
			void *arg);

/* Is this value as it is on a node that is well?  Is all of it, and are all nodes of one
 * build? */
bool status_is_fine(const struct storm_gather_entry *e);
bool status_is_wrong(const struct status_nodes *n,
		     const struct status_answer *a);

#endif
