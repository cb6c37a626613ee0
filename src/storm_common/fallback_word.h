/*
 * fallback_word.h - why Slurm launched a step in STORM's place: the causes that are
 * counted, and how srun tells a node.  No Slurm header.
 *
 * srun puts a variable into the step's environment, which Slurm's own launch message
 * takes along.  So the word costs no message.  slurmstepd takes it out again, and gives
 * it to the agent of one node (LOCAL_FALLBACK of local.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FALLBACK_WORD_H
#define STORM_FALLBACK_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FALLBACK_ENV "SLURM_STORM_FALLBACK"
#define FALLBACK_TEXT 160 /* bytes of a reason, with its NUL; the rest is cut */

/* The first node that fails has the cause. */
enum fallback_cause {
	FALLBACK_OPTION,   /* STORM has no such thing */
	FALLBACK_HOST,	   /* srun's host: storm.conf, interface, MUNGE */
	FALLBACK_NO_AGENT, /* nothing listens on a node */
	FALLBACK_SILENT,   /* no answer, or not any more */
	FALLBACK_VERSION,  /* an agent of another version */
	FALLBACK_REFUSED, /* an agent did not believe srun, or was not allowed */
	FALLBACK_BUSY,	  /* a limit of an agent */
	FALLBACK_OTHER,
	FALLBACK_CAUSES
};

/* What srun tells. */
struct fallback_told {
	enum fallback_cause cause;
	uint32_t keeper; /* the step's node that is to count it */
	char text[FALLBACK_TEXT];
};

/* The cause's word, for counters, and what is to be done, both constant. */
const char *fallback_word(enum fallback_cause cause);
const char *fallback_remedy(enum fallback_cause cause);
/* The cause of a word.  False: it is none. */
bool fallback_find(const char *word, enum fallback_cause *out);

/* The cause that a failure of a domain is; err: enum storm_err, or 0 if no node
 * failed. */
enum fallback_cause fallback_of(int err);

/* Write the variable's value to out, cut to its size. */
void fallback_write(const struct fallback_told *told, char *out, size_t size);
/* Read it.  False: it is none.  Its text is a user's: show it with care. */
bool fallback_read(const char *value, struct fallback_told *out);

/* Steps that are asked for. */
struct fallback_which {
	bool one; /* this job's, or this step's; else all */
	uint32_t job, step;
	bool any_step;
};

/* Read "", "JOB" or "JOB.STEP".  False: it is none of them. */
bool fallback_parse(const char *text, struct fallback_which *out);

#endif
