/*
 * child_watch.h - how a daemon keeps a process of ours running: slurmd its agent,
 * slurmctld its strober, storm_keeper its nursery.  One contract for all of them:
 *
 * - A pidfd tells the end at once.  The end that nobody wanted is logged once; of a
 *   start that fails again and again, the same error is logged once.
 * - What the process writes to its log goes on to the daemon's log, line by line.
 *   The pipe never blocks: not the daemon, and not the process.
 * - One that does not answer for its patience hangs, and is replaced.  Time in which
 *   the daemon itself stood still does not count.
 * - The end is asked for, waited for, forced by SIGKILL, and waited for again: each
 *   wait has a limit.
 * - One that SIGKILL does not end hangs in the kernel, mostly on a disk, and never
 *   returns to user mode.  So it is named and left behind, and the next one starts
 *   beside it.  So is one that is dead and that a debugger keeps.  It is buried
 *   when it ends.  No more than CHILD_LEFT_MAX are left.
 * - The next start waits for the back-off (child_backoff.h), in ms.  A start that
 *   fails is as an end.  A process that lived for CHILD_LIVED_WELL begins it anew.
 *
 * What to start, how to ask for an answer, and how to ask for the end, is the
 * daemon's.  One thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHILD_WATCH_H
#define STORM_CHILD_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "child_backoff.h"
#include "child_log.h"
#include "src/libstorm/base/clock.h"

#define CHILD_LIVED_WELL (5 * STORM_SEC)
#define CHILD_KILL_LIMIT 2000 /* ms from SIGKILL to the end */
#define CHILD_LATE \
	(2 * STORM_SEC) /* between two looks: the daemon stood still */
#define CHILD_LEFT_MAX 8

/* The exit status of a process that could not start, and of one whose configuration
 * is refused: the next may have another. */
#define CHILD_EXIT_FAILED 1
#define CHILD_EXIT_CONF 3

struct child_watch {
	/* The daemon sets these before child_watch_open(). */
	const char *name;    /* up to the pid: "storm: the agent (pid" */
	const char *program; /* in front of each line of its log */
	uint64_t patience;   /* ns without an answer; 0: it is not asked */
	/* It may read these. */
	pid_t pid;     /* 0: none runs */
	int pidfd;     /* to poll; -1 without a process */
	int log_read;  /* to poll */
	int log_write; /* for the process */
	bool child;    /* false: it is adopted, another process is its parent */
	uint64_t start_at; /* not before this another one starts */
	struct child_backoff backoff;
	struct child_log log;
	/* child_watch.c's */
	uint64_t started, heard, looked;
	struct child_left {
		pid_t pid;
		int pidfd; /* -1: it could not be had */
		bool child;
	} left[CHILD_LEFT_MAX];
	unsigned int nleft;
};

/* Make the pipe for its log; a start may follow at once.  0, or -1 and errno.
 * child_watch_close() leaves a living process alone, and those left behind known. */
int child_watch_open(struct child_watch *w);
void child_watch_close(struct child_watch *w);

/* True: another one may start now. */
bool child_watch_due(const struct child_watch *w, uint64_t now);
/* It was started (a child), or is adopted.  0; or an errno: it cannot be watched.
 * Such a child is killed, which is logged, and counts as a start that failed. */
int child_watch_began(struct child_watch *w, pid_t pid, bool child);
/* It could not be started. */
void child_watch_failed(struct child_watch *w);
/* What the last one ended for is over: the back-off begins anew, without a wait. */
void child_watch_at_once(struct child_watch *w);

/* It serves: all its errors are logged from now on. */
void child_watch_serves(struct child_watch *w);
/* It has answered. */
void child_watch_heard(struct child_watch *w, uint64_t now);
/* Call it each second at least.  True: it hangs, which is logged; end it. */
bool child_watch_hangs(struct child_watch *w, uint64_t now);
/* Log what it has written. */
void child_watch_drain(struct child_watch *w);

/* Wait at most ms.  True: it is dead. */
bool child_watch_is_dead(const struct child_watch *w, int ms);
/*
 * End it: by this signal if it is not 0, after ms by SIGKILL.  If that does not help,
 * leave it behind.  Returns its exit status, 128 + the signal that killed it, or -1:
 * it is another's child, or left behind.
 */
int child_watch_end(struct child_watch *w, int signal, int ms);
/* Nobody wanted that end: log it, unless it is -1. */
void child_watch_tell(struct child_watch *w, int status);
/* Was it left behind? */
bool child_watch_was_left(const struct child_watch *w);
/* After its end; or it runs on, and is not watched any more. */
void child_watch_forget(struct child_watch *w);

/* Wait for those left behind that have ended meanwhile. */
void child_watch_bury(struct child_watch *w);

#endif
