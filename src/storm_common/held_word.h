/*
 * held_word.h - reads what sched/storm says of a held job in its SystemComment:
 * "storm:...,held=STANDS/NODES[,loose=NODES]"
 * (src/plugins/sched/storm/comments.c).
 *
 * No Slurm header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_HELD_WORD_H
#define STORM_HELD_WORD_H

#include <stdbool.h>
#include <stdint.h>

struct held_word {
	uint32_t stands,
		nodes;	 /* proven to stand on so many of so many nodes */
	char loose[256]; /* the others, if they are known; else "" */
};

/* Find the word in a SystemComment, which may be NULL.  False: the job is not
 * held. */
bool held_word_read(const char *comment, struct held_word *out);

#endif
