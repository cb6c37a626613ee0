/*
 * errand.h - what may wait, done by one thread beside a loop: MUNGE.  A munged that is
 * slow must not keep the loop from other runs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_ERRAND_H
#define STORM_ERRAND_H

/* The first member of what it needs. */
struct errand {
	struct errand *next;
	void (*work)(struct errand *e); /* in the thread */
	void (*done)(struct errand *e); /* in the loop; it may free e */
};

/* A descriptor that is readable when errands_take() has something to do; or -1 with
 * errno.  Once, before the others. */
int errands_init(void);

/* One after the other, in this order; e is its own until done() is called.  -1: there
 * is no thread for it, and done() will not be called. */
int errands_give(struct errand *e);
void errands_take(void);

#endif
