/*
 * stack_gather.h - the asker's side of the tree: the nodes report their stacks by codes, and one
 * node that has a code is asked for its text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STACK_GATHER_H
#define STORM_STACK_GATHER_H

#include <pthread.h>

#include "stack_code.h"

enum gather_stage {
	GATHER_NONE,	/* the nodes print all by themselves */
	GATHER_REPORTS, /* they report */
	GATHER_ASKS,	/* one question is under way */
	GATHER_TEXTS,	/* texts are awaited, and there are more */
	GATHER_DONE,	/* all is asked, and the domain closed */
	GATHER_FAILED	/* the nodes print all, as with NONE */
};

/* One thread, and that of the domain. */
struct stack_gather {
	storm_domain_t *d;
	uint32_t nodes; /* of the domain */
	enum gather_stage stage;
	uint64_t until; /* ns; the stage ends */
	storm_event_t *asking;
	bool last;	   /* the question under way is the last one */
	uint64_t stood_us; /* the longest of all nodes */
	uint8_t question[STACK_WANTS_BYTES];
	pthread_mutex_t lock;
	struct stack_heard heard; /* by lock, while there is a domain */
	struct storm_idset lines; /* nodes that print all by themselves */
};

void stack_gather_init(struct stack_gather *g);
/* A domain's on_report; arg is the gather. */
void stack_gather_on_report(void *arg, const struct storm_report *r);
/* The nodes of this domain stand, and begin to report.  It is the gather's from now on. */
void stack_gather_begin(struct stack_gather *g, storm_domain_t *d,
			uint32_t nodes);
/* This node of the domain has printed all by itself.  It is of another release, or has waited too
 * long for a question; then all of them print. */
void stack_gather_by_lines(struct stack_gather *g, uint32_t node);
/* A text has come by a line of so many bytes. */
int stack_gather_text(struct stack_gather *g, struct stack_said *said,
		      size_t len, struct stack_set *to);
/* Go on if there is something to go on with.  Blocks for some ms at most, but once, where the
 * time for which tasks stood is asked.  Returns when it wants to be called again
 * (CLOCK_MONOTONIC ns), or UINT64_MAX. */
uint64_t stack_gather_step(struct stack_gather *g);
/* Close the domain, if it is open.  What it has heard stays. */
void stack_gather_end(struct stack_gather *g);
/* Free all. */
void stack_gather_clear(struct stack_gather *g);

#endif
