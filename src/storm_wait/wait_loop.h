/*
 * wait_loop.h - one wait of a rank: what happens between two tests, and what it
 * adds to the process's account, and to the task's (wait_page.h).
 *
 *	wait_begin(&w);
 *	while (!(rc = test(&done)) && !done)
 *		wait_pause(&w);
 *	wait_end(&w);
 *
 * Threads may wait at the same time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_WAIT_LOOP_H
#define STORM_WAIT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "wait_mode.h"
#include "wait_page.h"

struct waiting {
	uint64_t begun; /* CLOCK_MONOTONIC, ns */
};

/* The process's mode: spin, if the environment says nothing. */
const struct wait_mode *wait_loop_mode(void);
/* Do calls go to MPI as they are?  They do by the mode, or by a refusal. */
bool wait_loop_spins(void);
/* Why this process waits as MPI does although its mode says otherwise; or
 * NULL. */
const char *wait_loop_refusal(void);

/* Begin a wait; pause in it after each test that found nothing; end it. */
void wait_begin(struct waiting *w);
void wait_pause(struct waiting *w);
void wait_end(struct waiting *w);

/* A copy of this process's account. */
struct wait_account wait_loop_account(void);

#endif
