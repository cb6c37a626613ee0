/*
 * each_tasks.h - which task goes to which puller, and what becomes of those whose puller is
 * gone.  No I/O and no clock.
 *
 * Pullers have tasks ahead of need, so that none waits for the client: as many as its
 * slots do in AHEAD_US by what its tasks have taken so far.  Before the first of them has ended,
 * and while they are long, that is none.  Half of them go before it gets more: each message has
 * several.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_TASKS_H
#define STORM_EACH_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EACH_AHEAD_US 100000 /* several times PULL_HOLD_US */
#define EACH_AHEAD_MAX 1024  /* tasks of a puller that wait, at most */

struct each_task {
	struct each_task *next, *prev;
	uint64_t seq;
	uint32_t tries;	 /* how often it was begun and ended, or is to be now */
	uint32_t deaths; /* of pullers that had begun it, or may have */
	bool begun;	 /* the puller that has it has begun it */
	void *what;	 /* the caller's */
};

/* In the order in which they came. */
struct each_list {
	struct each_task *first, *last;
};

struct each_puller {
	bool came, there; /* it has said hello; and is not gone */
	uint32_t slots;	  /* 0: it gets none */
	struct each_list has;
	uint32_t count, begun; /* of them */
	bool fills;	  /* it gets tasks until it has all that it should */
	uint64_t mean_us; /* of a task's time; 0: not known */
	uint32_t feared;  /* of them, with which a puller was lost before */
	uint32_t suspects; /* of a lost one: slots for tasks that it did not tell of */
	uint32_t back; /* tasks that it was asked to give back, and has not */
};

struct each_tasks {
	struct each_puller *puller; /* by rank */
	uint32_t pullers;
	struct each_list again; /* that go first: tried before, or given back */
	uint32_t retries, crash_limit;
	bool shared; /* pullers share nodes */
};

/* Before: zero, but for the limits and shared.  Tasks that are left are not freed: take them from the lists before. */
void each_tasks_fini(struct each_tasks *t);

/* A puller is there.  False: it was there before, or there is no memory.  Pointers to
 * pullers are valid until the next call. */
bool each_tasks_join(struct each_tasks *t, uint32_t rank, uint32_t slots);
/* One that was lost, of which all tasks were taken, is there again. */
void each_tasks_rejoin(struct each_tasks *t, uint32_t rank);
/* The puller that should get a task now, the one with the least to do first.  bare: none
 * beyond its slots.  NULL: no one should. */
struct each_puller *each_tasks_wants(struct each_tasks *t, bool bare);
/* One that goes before new ones, and its puller; NULL: there is none, or no puller for it.
 * Those with which pullers were lost do not share one, nor a node: only one of them may be
 * the reason. */
struct each_task *each_tasks_again(struct each_tasks *t, bool bare,
				   struct each_puller **p);
void each_tasks_give(struct each_puller *p, struct each_task *task);

/* What a puller says of a task.  NULL: it does not have it, or not like this.  One that has ended
 * is the caller's, and time_us is how long it took. */
struct each_task *each_tasks_begun(struct each_puller *p, uint64_t seq);
struct each_task *each_tasks_ended(struct each_puller *p, uint64_t seq,
				   uint64_t time_us);
/* It comes back, and goes first. */
struct each_task *each_tasks_back(struct each_tasks *t, struct each_puller *p,
				  uint64_t seq);
/* The task failed.  True: it begins again. */
bool each_tasks_retry(struct each_tasks *t, struct each_task *task);

/* The puller is gone: take what it has, one by one.  NULL: that was all. */
enum each_fate { EACH_NOT_BEGUN, EACH_MAY_HAVE_BEGUN, EACH_WAS_BEGUN };
struct each_task *each_tasks_lose(struct each_puller *p, enum each_fate *fate);
/* Such a task.  True: it begins again; false: it took too many pullers down. */
bool each_tasks_survives(struct each_tasks *t, struct each_task *task);

/* If one has nothing to do and another one has tasks that wait: the latter, and how many
 * it should give back.  NULL: there is none.  all: as if all had nothing to do. */
struct each_puller *each_tasks_recall(struct each_tasks *t, bool all,
				      uint32_t *n);

/* Tasks that pullers have. */
uint64_t each_tasks_under_way(const struct each_tasks *t);
/* Slots of pullers that are there. */
uint32_t each_tasks_slots(const struct each_tasks *t);

#endif
