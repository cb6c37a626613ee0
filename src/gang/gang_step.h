/*
 * gang_step.h - a step on this node that gang scheduling may stop, and the
 * record that its slurmstepd leaves of it in the node's run directory:
 *
 * 	STORM_RUNDIR/NODE/steps/JOB.STEP.PID
 *
 * The agent reads the directory, also after a restart; slurmd's plugin reads it
 * when the agent is dead.  So no process that dies takes a step's record along.
 * A record exists once all tasks are in the group: an incomplete step is not
 * stopped.  A record whose slurmstepd has ended is void.
 *
 * While Slurm suspends the step, the record is hidden: STORM must not continue
 * the step, and Slurm may use its group.  The node is not notified of a
 * suspended batch script.  So each record has a mark while gang scheduling
 * keeps the step stopped, and a guard continues no step without a mark.
 *
 * The directory is root's.  No Slurm header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_STEP_H
#define STORM_GANG_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "freezer.h"

#define GANG_STEP_NAME 40 /* of a record, with its NUL */

struct gang_step {
	uint32_t job, step;
	bool script;	  /* batch or interactive: sruns may be in it */
	pid_t root;	  /* its slurmstepd */
	uint64_t started; /* gang_step_started(root): pids are reused */
	enum freezer_kind kind;
	bool marked;
	bool yields; /* its user wants it to give way, not to be stopped */
	char group[PATH_MAX]; /* "" with signals */
	char idle[PATH_MAX];  /* of freezer_idle_make() */
};

/* Write the name of the step's record, which is its group's, too. */
void gang_step_name(const struct gang_step *s, char (*out)[GANG_STEP_NAME]);

/* A process's start, in clock ticks since boot; 0: there is no such process. */
uint64_t gang_step_started(pid_t pid);
/* Is the step's slurmstepd alive?  Neither: that cannot be found out now. */
bool gang_step_alive(const struct gang_step *s);
bool gang_step_ended(const struct gang_step *s);
/* Has the process ended that has begun then?  Not: that cannot be found out now.  *started
 * is 0 if that could not be found out before; it is set as soon as it can. */
bool gang_step_over(pid_t root, uint64_t *started);

/* Write the directory of a node's records to *out; create it if make is set.  0
 * or an errno. */
int gang_step_dir(const char *rundir, const char *node, bool make,
		  char (*out)[PATH_MAX]);

/* Open the step, to stop it and to let it fill.  NULL and errno on failure. */
struct freezer *gang_step_open(const struct gang_step *s);

/* Write a record, atomically.  0 or an errno. */
int gang_step_write(const char *dir, const struct gang_step *s);
/* Read a record.  0 or an errno; EBADMSG: it is no record. */
int gang_step_read(const char *dir, const char *name, struct gang_step *out);
void gang_step_remove(const char *dir, const char *name); /* hidden or not */

/* Call f for each record that is not hidden.  0, also without the directory; or the errno
 * that keeps this process from reading all of them: it knows nothing of the others. */
int gang_step_each(const char *dir,
		   void (*f)(void *arg, const char *name,
			     const struct gang_step *s),
		   void *arg);

/* Tell the agent that records have changed.  If it does not hear that, it sees
 * the change within a second. */
void gang_step_tell(const char *rundir, const char *node);

/* Hide a record (hold), or show it again.  0 or an errno; ENOENT: there is
 * none. */
int gang_step_hold(const char *dir, const char *name, bool hold);
bool gang_step_held(const char *dir, const char *name);

/*
 * The mark of a record.  The agent sets it before it stops the step, and clears
 * it after it has continued the step.  That happens thousands of times a
 * second, so the mark is mapped.  open: NULL and errno on failure.
 */
struct gang_mark;
struct gang_mark *gang_mark_open(const char *dir, const char *name);
void gang_mark_set(struct gang_mark *m, bool marked);
void gang_mark_close(struct gang_mark *m); /* NULL is allowed */

/*
 * Continue all steps of a node that have a mark.  dead: there is certainly no
 * agent, so clear the marks, too; else an agent may be about to stop a step.
 * Returns the number of steps.  warn (may be NULL) is called for each failure; name is
 * that of the directory if steps in it may have been left out.
 */
unsigned int gang_step_thaw_all(const char *dir, bool dead,
				void (*warn)(const char *name, int err));

#endif
