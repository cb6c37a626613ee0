/*
 * puller_private.h - what a puller knows: puller.c hears its client and waits,
 * puller_tasks.c begins tasks and sees their ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PULLER_PRIVATE_H
#define STORM_PULLER_PRIVATE_H

#include <poll.h>
#include <sys/types.h>

#include "each_env.h"
#include "pull_queue.h"
#include "pull_wire.h"

#define PULL_US 1000		  /* ns */
#define PULL_OUT_MAX (256u << 10) /* with more unsent nothing is read */

/* A place for a task, and the one that is there. */
struct pull_slot {
	bool taken, ended;
	pid_t pid;
	int pipe[2];  /* its output; -1: none is left */
	nfds_t at[2]; /* in pull.poll; 0: not there */
	/* storm_now(); until then it may run, or, if it has ended, that is not told; 0: no
	 * such time */
	uint64_t began, until;
	struct pull_end end;
};

extern struct puller {
	struct pull_setup setup;
	struct pull_slot *slots; /* setup.slots, or NULL */
	uint32_t taken, next;
	struct pull_queue queue;
	struct pull_bytes out;
	struct run_reader in;
	struct pollfd *poll;
	int null, signals;
	bool over; /* no more comes */
	uint64_t since; /* storm_now() when the oldest word came that is not sent; 0: none */
	bool urgent; /* it is not to wait any longer */
	const char *shell;
	bool direct;
	struct each_env env;
} pull;

/* Begin those that have a slot.  Output that cannot be sent stops what would write more. */
void pull_begin_tasks(void);
/* See which have ended. */
void pull_reap(void);
/* End all that run. */
void pull_kill_all(void);
/* End those whose time is over.  ms until the next time, or -1. */
int pull_time(void);

/* Read what is there, as long as it can be sent.  True: all of it was read. */
bool pull_slot_read(struct pull_slot *s, int k);
/* It has ended: tell that, once it may be told and all of its output is sent. */
void pull_slot_finish(struct pull_slot *s);

#endif
