/*
 * stack_set.h - stacks of many tasks, equal ones merged: a set of stacks, each with the ranks
 * that have it.  A node merges those of its tasks, and the asker those of the nodes.  No
 * I/O.  One thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STACK_SET_H
#define STORM_STACK_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libstorm/storm.h"

/* A process whose variables say no rank. */
#define STACK_NO_RANK (UINT32_MAX - 1)
#define STACK_WORD 63	   /* bytes of a label or a program's name */
#define STACK_TEXT 4095	   /* bytes of a stack */
#define STACK_ALL 0x100000 /* bytes of all stacks that a set keeps */

enum stack_kind {
	STACK_MAIN = 'm',   /* of a process's first thread */
	STACK_THREAD = 't', /* of another one */
	STACK_FAULT = 'f'   /* why there is none */
};

/* One stack, or the reason for none.  Text is printable ASCII. */
struct stack_rec {
	enum stack_kind kind;
	char label[STACK_WORD + 1]; /* the step, such as "0" or "batch" */
	char program[STACK_WORD + 1];
	char text[STACK_TEXT + 1]; /* "leaf < caller < main" */
	uint64_t count;		   /* threads that have it */
	struct storm_idset ranks;
};

/* As in the set.  The texts are one behind the other. */
struct stack_one {
	struct stack_one *next; /* of the same hash */
	uint64_t hash;
	uint64_t count;
	struct storm_idset ranks;
	enum stack_kind kind;
	const char *label, *program, *text;
};

/* All zeroes: empty. */
struct stack_set {
	struct stack_one **all; /* in the order in which they came */
	uint32_t count, room;
	struct stack_one **slots; /* by hash; a power of two */
	uint32_t nslots;
	size_t bytes;
	uint64_t over; /* stacks of threads that are counted, and not kept */
};

/* What a set knows a stack by. */
uint64_t stack_hash(enum stack_kind kind, const char *label,
		    const char *program, const char *text);
/* Are these processes without a rank?  Their stacks are others than those of ranks. */
bool stack_is_rankless(const struct storm_idset *ranks);
/* Merge one into the set, which copies it.  Beyond STACK_ALL bytes a new stack is only
 * counted.  STORM_OK, or STORM_ENOMEM with the set as it was, or without some of the
 * ranks. */
int stack_set_add(struct stack_set *s, const struct stack_rec *rec);
/* As stack_set_add().  *kept: where it is, until stack_set_clear(); NULL: it is counted alone. */
int stack_set_keep(struct stack_set *s, const struct stack_rec *rec,
		   const struct stack_one **kept);
/* Merge all of another set into this one.  Errors as there. */
int stack_set_join(struct stack_set *to, const struct stack_set *from);
/* Threads of all stacks, with those that are counted alone. */
uint64_t stack_set_threads(const struct stack_set *s);
/* Ascending by label, kind and program, and with most threads first. */
void stack_set_sort(struct stack_set *s);
/* Free all of it; the set is empty then. */
void stack_set_clear(struct stack_set *s);

#endif
