/*
 * each_private.h - what a storm each that runs knows: each_run.c gives work and waits,
 * each_heard.c hears pullers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_PRIVATE_H
#define STORM_EACH_PRIVATE_H

#include "each_halt.h"
#include "each_head.h"
#include "each_job.h"
#include "each_options.h"
#include "each_tasks.h"

#define EACH_NAME 256

struct each_state {
	const struct each_options *o;
	struct each_tasks tasks;
	char (*node)[EACH_NAME];	/* of pullers */
	struct each_job *first, **last; /* not printed yet, by number */
	struct each_halt halt;
	enum each_verdict verdict;
	bool killed;	/* pullers were told */
	bool closed;	/* they were told that no more comes */
	bool broken;	/* it was said why: the exit status is EACH_FAILED */
	uint64_t since; /* storm_now() when the first puller came; 0: none has */
	uint64_t total;	 /* of tasks; 0: not known */
	uint64_t made;	 /* of them, so far */
	uint64_t next;	 /* storm_now(): not before it, with --delay */
	uint32_t bases;	 /* slot numbers that are given */
	uint32_t cpus;	 /* of all pullers that came */
	uint32_t narrow; /* nodes with too few CPUs for a task */
	int signals, feed;
	int signal; /* that has ended it, or 0 */
};
extern struct each_state each;

/* each_heard.c: for each_head_open(). */
extern const struct each_heard each_heard;

/* each_show.c: draw what --bar and its like show, if it is time.  ms until it is, or -1. */
int each_show(void);

/* From now on this holds, or more. */
static inline void each_stop(enum each_verdict verdict)
{
	if (each.verdict < verdict)
		each.verdict = verdict;
}

#endif
