/*
 * each_private.h - what a storm each that runs knows: each_run.c gives work and waits,
 * each_way.h is by whom it is done, each_heard.c is what becomes of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_PRIVATE_H
#define STORM_EACH_PRIVATE_H

#include "each_halt.h"
#include "each_job.h"
#include "each_options.h"
#include "each_tasks.h"
#include "each_way.h"

#define EACH_NAME 256

struct each_state {
	const struct each_options *o;
	const struct each_way *way;
	struct each_tasks tasks;
	char (*node)[EACH_NAME];	/* of pullers */
	struct each_job *first, **last; /* not printed yet, by number */
	struct each_halt halt;
	enum each_verdict verdict;
	bool killed;	/* pullers were told */
	bool closed;	/* they were told that no more comes */
	bool broken;	/* it was said why: the exit status is EACH_FAILED */
	uint64_t since; /* storm_now() when the first puller came; 0: none has */
	uint64_t total;	   /* of tasks; 0: not known */
	uint64_t made;	   /* of them, so far */
	uint64_t next;	   /* storm_now(): not before it, with --delay */
	uint32_t bases;	   /* slot numbers that are given */
	uint32_t cpus;	   /* of all pullers that came */
	uint32_t job_cpus; /* by what Slurm says of this node */
	uint32_t narrow;   /* nodes with too few CPUs for a task */
	int signals, feed;
	int signal; /* that has ended it, or 0 */
};
extern struct each_state each;

/*
 * each_heard.c: what a way has to say.  What it says of places that are not there, or of tasks
 * that they do not have, is ignored.
 */
/* A place is there, with so many slots, of so many CPUs.  False: it was there before.  Its
 * name, before a task begins there. */
bool each_came(uint32_t rank, uint32_t slots, uint32_t cpus);
void each_named(uint32_t rank, const void *name, size_t len);
/* A task of the place has begun in this slot, has written, comes back, has ended. */
void each_begun(uint32_t rank, uint64_t seq, uint32_t slot);
void each_written(uint32_t rank, uint64_t seq, int fd, const uint8_t *buf,
		  size_t len);
void each_back(uint32_t rank, uint64_t seq);
void each_ended(uint32_t rank, const struct pull_end *e);
/* The place is lost, and all that it has; and it is there again. */
void each_gone(uint32_t rank);
void each_came_again(uint32_t rank);

/* each_show.c: draw what --bar and its like show, if it is time.  ms until it is, or -1. */
int each_show(void);

/* From now on this holds, or more. */
static inline void each_stop(enum each_verdict verdict)
{
	if (each.verdict < verdict)
		each.verdict = verdict;
}

#endif
