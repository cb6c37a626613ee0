/*
 * child_watch.h - how a daemon keeps a process of ours running: slurmd its
 * agent, slurmctld its strober, storm_keeper its nursery.  One contract for all
 * of them:
 *
 * - A pidfd tells its end at once.  An end that nobody wanted is logged.  If
 *   starts fail again and again with the same error, that is logged only once.
 * - Whatever the process writes to its log goes to the daemon's log, line by
 *   line.  The pipe blocks neither the daemon nor the process.
 * - A process that has not answered for its patience hangs, and is replaced.
 *   Time in which the daemon itself stood still does not count.
 * - To end it, the daemon asks it, waits, sends SIGKILL, and waits again.  Each
 *   wait has a limit.
 * - A process that SIGKILL does not end hangs in the kernel, mostly on a disk,
 *   and never returns to user mode.  It is named and left behind, and the next
 *   one starts beside it.  The same is done with one that is dead, but that a
 *   debugger keeps.  It is waited for when it has ended.  No more than
 *   CHILD_LEFT_MAX are left behind.
 * - The next start waits for the back-off (child_backoff.h).  A start that
 *   fails counts as an end.  After a process that lived for CHILD_LIVED_WELL
 *   the back-off begins anew.
 *
 * The daemon knows what to start, how to ask for an answer, and how to ask for
 * the end.  One thread.
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
/* If two looks are so far apart, the daemon itself stood still. */
#define CHILD_LATE (2 * STORM_SEC)
#define CHILD_LEFT_MAX 8

/* The exit status of a process that could not start, and of one that refuses
 * its configuration: the next one may get another. */
#define CHILD_EXIT_FAILED 1
#define CHILD_EXIT_CONF 3

struct child_watch {
	/* The daemon sets these before child_watch_open(). */
	const char *name;    /* begins messages: "storm: the agent (pid" */
	const char *program; /* stands before each line of its log */
	uint64_t patience;   /* ns without an answer; 0: it is not asked */
	/* The daemon may read these. */
	pid_t pid;	   /* 0: none runs */
	int pidfd;	   /* to poll; -1 without a process */
	int log_read;	   /* to poll */
	int log_write;	   /* for the process */
	bool child;	   /* false: it is adopted, with another parent */
	uint64_t start_at; /* ns; no other one starts before */
	struct child_backoff backoff;
	struct child_log log;
	/* Only child_watch.c uses these. */
	uint64_t started, heard, looked;
	struct child_left {
		pid_t pid;
		int pidfd; /* -1: there is none */
		bool child;
	} left[CHILD_LEFT_MAX];
	unsigned int nleft;
};

/* Make the pipe of the log; a start may follow at once.  0, or -1 and errno.
 * child_watch_close() ends no process, and forgets none that was left
 * behind. */
int child_watch_open(struct child_watch *w);
void child_watch_close(struct child_watch *w);

/* May another process start now?  (storm_now(), ns) */
bool child_watch_due(const struct child_watch *w, uint64_t now);
/* The process was started (child), or was adopted.  0; or an errno: it cannot
 * be watched.  Such a child is killed, which is logged, and counts as a failed
 * start. */
int child_watch_began(struct child_watch *w, pid_t pid, bool child);
/* The process could not be started. */
void child_watch_failed(struct child_watch *w);
/* The reason for the last end is gone: start again at once, and the back-off
 * anew. */
void child_watch_at_once(struct child_watch *w);

/* The process serves: all its errors are logged from now on. */
void child_watch_serves(struct child_watch *w);
/* The process has answered. */
void child_watch_heard(struct child_watch *w, uint64_t now);
/* Call this once a second at least.  True: the process hangs, which is logged;
 * the caller must end it. */
bool child_watch_hangs(struct child_watch *w, uint64_t now);
/* Log what the process has written. */
void child_watch_drain(struct child_watch *w);

/* Wait at most ms.  True: the process is dead. */
bool child_watch_is_dead(const struct child_watch *w, int ms);
/*
 * End the process: by this signal if it is not 0, and after ms by SIGKILL.  If
 * that does not help, leave it behind.  Returns its exit status, or 128 + the
 * signal that killed it.  -1: it is another's child, or was left behind.
 */
int child_watch_end(struct child_watch *w, int signal, int ms);
/* Nobody wanted this end: log it, unless the status is -1. */
void child_watch_tell(struct child_watch *w, int status);
/* Was the process left behind? */
bool child_watch_was_left(const struct child_watch *w);
/* Watch it no more: it has ended, or it runs on without us. */
void child_watch_forget(struct child_watch *w);

/* Wait for those left behind that have ended meanwhile. */
void child_watch_bury(struct child_watch *w);

#endif
