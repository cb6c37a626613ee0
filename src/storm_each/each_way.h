/*
 * each_way.h - where tasks are executed, and by whom.  A way has places, which each_tasks.h calls
 * pullers: they come, get tasks and may be lost.
 *
 * What becomes of tasks it says by the calls of each_private.h, from hear(), and from
 * recall().  All of it is the client's main thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_WAY_H
#define STORM_EACH_WAY_H

#include <stdbool.h>
#include <stdint.h>

struct each_job;

struct each_way {
	/* A place has one task at a time, and none ahead of need. */
	bool alone;
	/* Begin, with the launchers' journal, if it is not NULL.  False: it was said
	 * why. */
	bool (*open)(const char *journal);
	/* A descriptor to wait at, for reading; and is it for writing, too? */
	int (*fd)(void);
	bool (*waits)(void);
	/* ms after which patience() is to be called, or -1.  It is called more often. */
	int (*timeout)(void);
	void (*patience)(void);
	/* Take what is there.  False: all is over; *status is how. */
	bool (*hear)(int *status);
	/* A task for a place, before each_tasks_give().  It stays the caller's. */
	void (*give)(uint32_t place, const struct each_job *j);
	/* So many of those that wait there are to come back: each_back(), or each_begun() of
	 * what cannot. */
	void (*recall)(uint32_t place, uint32_t n);
	/* End those that run. */
	void (*kill)(void);
	/* No more tasks come: when all have ended, hear() says that all is over. */
	void (*end)(void);
	/* Send what can be sent without waiting. */
	void (*send)(void);
};

/* A process on each node, which has all of its CPUs: each_pullers.c. */
extern const struct each_way each_pullers;
/* A run for each task: each_runs.c. */
extern const struct each_way each_runs;

#endif
