/*
 * health_word.h - what keeps a node from being well, as numbers that a node says by
 * COMPARE-AND-WRITE, and as the words that users read.  No Slurm header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_HEALTH_WORD_H
#define STORM_HEALTH_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libstorm/storm.h"

/* The numbers are on the wire.  The first one here counts if there are several. */
enum health_cause {
	HEALTH_WELL = 0,
	HEALTH_UNCHECKED = 1, /* the checks do not come to an end */
	HEALTH_HUNG = 2,      /* a file system does not answer */
	HEALTH_SPACE = 3,
	HEALTH_INODES = 4,
	HEALTH_MEMORY = 5,
	HEALTH_MUNGE = 6,
	HEALTH_SLURMD = 7,
	HEALTH_CLOCK = 8,
	HEALTH_DESCRIPTORS = 9,
	HEALTH_INOTIFY = 10,
	HEALTH_PROGRAM = 11, /* the site's own check */
	HEALTH_CAUSES = 16   /* there is room for so many */
};

/* A node's own variable in the cluster domain: how often its health has changed, times
 * HEALTH_CAUSES, plus the cause.  In a step's it is the cause as the step begins.  An
 * agent that checks nothing has 0. */
#define HEALTH_VAR (STORM_VAR_USER + 2)

static inline enum health_cause health_cause_of(uint64_t value)
{
	return (enum health_cause)(value % HEALTH_CAUSES);
}

/* The word for a node's Extra, constant; NULL: it is well. */
const char *health_word(enum health_cause cause);
/* The cause of a word; HEALTH_WELL has none.  False: it is of no cause. */
bool health_find(const char *word, enum health_cause *out);
/* In a sentence's words, constant: "a file system does not answer". */
const char *health_text(enum health_cause cause);

#endif
