/*
 * turns_word.h - reads what sched/storm says of a job that takes turns in its
 * SystemComment: "storm:turns=1/2,quantum=20ms,had=3.8s,waited=3.9s,slot=0/2,missed=0",
 * and perhaps ",out=NODES" (src/plugins/sched/storm/comments.c; storm-gang(7)).
 * held_word.h reads what follows for a held job.  No Slurm header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TURNS_WORD_H
#define STORM_TURNS_WORD_H

#include <stdbool.h>
#include <stdint.h>

struct turns_word {
	uint32_t have, of; /* the job has so many of so many turns */
	double quantum;	   /* s */
	double had,
		waited; /* s since it shares: run, and stood in its turns' wait */
	uint32_t slot, round; /* its first slot, and how many a round has */
	uint64_t missed;      /* strobes */
	char out[256]; /* its nodes that are out of gang scheduling, or "" */
};

/* Find the word in a SystemComment, which may be NULL.  False: there is none. */
bool turns_word_read(const char *comment, struct turns_word *out);

#endif
