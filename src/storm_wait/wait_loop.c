/*
 * wait_loop.c - wait as the mode says.
 *
 * block is implicit coscheduling's spin-block, with a fixed time: a rank that waits
 * longer than a message takes gives its processor to another job, and the end of
 * the message brings the ranks together again.  slice borrows the rhythm of
 * buffered coscheduling and nothing else: all ranks look in the first part of a
 * slice.  MPI still sends when it is called.  Slices are those of the time of day,
 * which the hosts of a cluster agree on.  They do not follow strobes, because no
 * strobe is sent where jobs share without turns, and slices help only there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "wait_loop.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define WAIT_SECOND 1000000000ULL
#define ARRIVED 20000 /* ns that it takes to find what is here */
#define RAN 10000000  /* ns between looks at the CPU time: a system call */

static struct wait_mode mode;
static const char *refusal;
static struct wait_slot own, *slot = &own; /* where the task's account is */
static struct wait_account before;	   /* others of this task had */

/* A call of MPI may call MPI once more: the outer one is counted. */
static __thread struct {
	int depth;
	bool sharp;	      /* the timer slack is set */
	uint64_t ended;	      /* the last wait; 0: none yet */
	uint64_t ran, ran_at; /* CPU time, and when it was looked at */
} thread;

static uint64_t wait_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t) t.tv_sec * WAIT_SECOND + (uint64_t) t.tv_nsec;
}

/* A signal ends it early, and the caller tests. */
static void wait_sleep(uint64_t ns)
{
	struct timespec t = { ns / WAIT_SECOND, ns % WAIT_SECOND };

	/* 50 us of slack, which is the rule, are as long as the nap. */
	if (!thread.sharp) {
		prctl(PR_SET_TIMERSLACK, 1);
		thread.sharp = true;
	}
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* Programs of one task that follow each other go on with its account. */
static void wait_loop_find_slot(void)
{
	const char *task = getenv("SLURM_LOCALID");
	struct wait_slot *shared =
		task ? wait_page_map(getenv(WAIT_PAGE_ENV),
				     (uint32_t) strtoul(task, NULL, 10)) :
		       NULL;

	if (shared)
		slot = shared;
	before = wait_slot_load(slot);
}

__attribute__((constructor)) static void wait_loop_init(void)
{
	wait_loop_find_slot();
	if (!wait_mode_parse(getenv(WAIT_MODE_ENV), &mode))
		mode = (struct wait_mode) { .kind = WAIT_SPIN };
	/* A posted barrier and one that blocks do not meet, and other parts of
	 * the step may have been started without the option. */
	if (mode.kind != WAIT_SPIN && getenv("SLURM_HET_SIZE"))
		refusal = "the ranks of a heterogeneous job wait as MPI does";
}

const struct wait_mode *wait_loop_mode(void)
{
	return &mode;
}

bool wait_loop_spins(void)
{
	return mode.kind == WAIT_SPIN || refusal;
}

const char *wait_loop_refusal(void)
{
	return refusal;
}

static void wait_loop_add(_Atomic uint64_t *sum, uint64_t n)
{
	atomic_fetch_add_explicit(sum, n, memory_order_relaxed);
}

/* The first look only begins it, as the first wait does. */
static void wait_loop_add_ran(void)
{
	uint64_t ran;

	if (thread.ended < thread.ran_at + RAN)
		return;
	ran = wait_clock(CLOCK_THREAD_CPUTIME_ID);
	if (thread.ran_at)
		wait_loop_add(&slot->ran, ran - thread.ran);
	thread.ran = ran;
	thread.ran_at = thread.ended;
}

void wait_begin(struct waiting *w)
{
	if (thread.depth++)
		return;
	w->begun = wait_clock(CLOCK_MONOTONIC);
	if (thread.ended)
		wait_loop_add(&slot->computed, w->begun - thread.ended);
}

static void wait_block(const struct waiting *w)
{
	if (wait_clock(CLOCK_MONOTONIC) - w->begun >= mode.first)
		wait_sleep(mode.second);
}

/* What has arrived may need some tests until MPI has it.  The sleep is a span of
 * CLOCK_MONOTONIC, so that a clock that is set back makes it no longer than a
 * slice. */
static void wait_slice(const struct waiting *w)
{
	uint64_t into = wait_clock(CLOCK_REALTIME) % mode.first;

	if (into >= mode.second &&
	    wait_clock(CLOCK_MONOTONIC) - w->begun >= ARRIVED)
		wait_sleep(mode.first - into);
}

void wait_pause(struct waiting *w)
{
	if (mode.kind == WAIT_BLOCK)
		wait_block(w);
	else if (mode.kind == WAIT_SLICE)
		wait_slice(w);
}

void wait_end(struct waiting *w)
{
	if (--thread.depth)
		return;
	thread.ended = wait_clock(CLOCK_MONOTONIC);
	wait_loop_add(&slot->waits, 1);
	wait_loop_add(&slot->waited, thread.ended - w->begun);
	wait_loop_add_ran();
}

struct wait_account wait_loop_account(void)
{
	struct wait_account a = wait_slot_load(slot);

	return (struct wait_account) {
		a.waits - before.waits,
		a.computed - before.computed,
		a.waited - before.waited,
		a.ran - before.ran,
	};
}
