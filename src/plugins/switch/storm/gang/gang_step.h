/*
 * gang_step.h - a step on this node that gang scheduling may stop, and the
 * record that its slurmstepd leaves of it in the node's run directory:
 *
 *	STORM_RUNDIR/NODE/steps/JOB.STEP.PID
 *
 * Whoever has to know the steps reads the directory: the agent, also a new one;
 * slurmd's plugin when the agent is dead.  So nobody's death loses a step.  A
 * record is there from the moment that all tasks are in the group: a step that is
 * not complete is not stopped.  One whose slurmstepd has ended is void.  While
 * Slurm itself keeps the step standing the record is hidden: nobody of ours may
 * let it go on, and it may be by the same group.  Of scripts nobody tells us that:
 * so each record has a mark, set while gang scheduling keeps the step standing,
 * and what has none is left as it is.
 *
 * The directory is root's.  Nothing here knows of Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_STEP_H
#define STORM_GANG_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "freezer.h"

#define GANG_STEP_NAME 40	/* of a record, with its NUL */

struct gang_step {
	uint32_t job, step;
	bool script;		/* batch or interactive: sruns may be in it */
	pid_t root;		/* its slurmstepd */
	uint64_t started;	/* when that began, for pids are used again */
	enum freezer_kind kind;
	bool marked;
	char group[PATH_MAX];	/* "" with signals */
};

/* The record's name, which its group has, too. */
void gang_step_name(const struct gang_step *s, char out[GANG_STEP_NAME]);

/* When a process began, in the kernel's ticks; 0: there is none. */
uint64_t gang_step_started(pid_t pid);
/* Does its slurmstepd live? */
bool gang_step_alive(const struct gang_step *s);

/* Where the records of a node are; makes it, if make is set.  0 or an errno. */
int gang_step_dir(const char *rundir, const char *node, bool make,
		  char out[PATH_MAX]);

/* All of it, or nothing; 0 or an errno. */
int gang_step_write(const char *dir, const struct gang_step *s);
/* 0 or an errno; EBADMSG: it is no record. */
int gang_step_read(const char *dir, const char *name, struct gang_step *out);
void gang_step_remove(const char *dir, const char *name);	/* hidden or not */

/* For each record; the return value is how many there were. */
unsigned int gang_step_each(const char *dir,
			    void (*f)(void *arg, const char *name,
				      const struct gang_step *s), void *arg);

/* Hide a record, or show it again; 0 or an errno, ENOENT: there is none. */
int gang_step_hold(const char *dir, const char *name, bool hold);
bool gang_step_held(const char *dir, const char *name);

/*
 * The mark of a record, for the agent, who sets it before it stops the step and
 * clears it when that goes on again: thousands of times a second, so it is mapped.
 * NULL and errno.
 */
struct gang_mark;
struct gang_mark *gang_mark_open(const char *dir, const char *name);
void gang_mark_set(struct gang_mark *m, bool marked);
void gang_mark_close(struct gang_mark *m);	/* NULL is fine */

/*
 * Let all steps of a node go on that have a mark.  dead: there is certainly no
 * agent, and the marks are cleared; else it may be about to stop one.  Returns how
 * many steps there are; what fails is told by warn (NULL: not at all).
 */
unsigned int gang_step_thaw_all(const char *dir, bool dead,
				void (*warn)(const char *name, int err));

#endif
