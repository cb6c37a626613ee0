/*
 * freezer.h - stop and continue all processes of a step in well under a
 * millisecond: what a node does when the gang's time slot ends or begins.
 *
 * Three mechanisms, in the order of preference:
 *	cgroup v2	"cgroup.freeze" of a group of the step's own; nothing
 *			escapes, SIGKILL works, the parent is told nothing.
 *	signals		SIGSTOP and SIGCONT to every descendant of the step's
 *			slurmstepd, those that have made sessions of their own
 *			and those whose parent has died included.
 *	cgroup v1	the freezer; not even SIGKILL gets through, so whoever
 *			uses it must look for pending signals.
 * Nothing here knows of Slurm.  Paths are given by whoever owns the step; no
 * function follows what another user could have put there.  Not thread-safe for
 * one struct freezer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FREEZER_H
#define STORM_FREEZER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum freezer_kind {
	FREEZER_NONE,		/* as a wish: the best that there is */
	FREEZER_V2,
	FREEZER_SIGNALS,
	FREEZER_V1
};
#define FREEZER_KINDS 4

/* "cgroup2", "signals", "freezer"; NULL for others.  And back: FREEZER_NONE for
 * what is none. */
const char *freezer_name(enum freezer_kind kind);
enum freezer_kind freezer_kind_of(const char *name);

/* How a host does it. */
struct freezer_host {
	enum freezer_kind kind;
	char base[PATH_MAX];	/* below it are the groups; "" with signals, and
				   where steps have groups of another's */
};

/*
 * Find the mechanism (wish: this one and no other) and make the directory for
 * this node's groups.  0, or an errno: the wish cannot be fulfilled.
 */
int freezer_host_find(struct freezer_host *h, enum freezer_kind wish,
		      const char *node);

/* The host does it no more: remove the directories that freezer_host_find() has made,
 * if no step is left; base is freezer_host's.  freezer_group_make() would make
 * them anew. */
void freezer_host_remove(const char *base);

/*
 * Another has a v2 group for the processes of each step, in which they must stay:
 * there are no groups of ours.  0, or an errno: such groups cannot be frozen.
 */
int freezer_host_borrow(struct freezer_host *h);

/* Are all of this host's groups of version 2? */
bool freezer_host_pure(void);

/*
 * A borrowed group: the one called name beside this process's own, which is called
 * own.  0 or an errno, ENOENT: there are no such groups.
 */
int freezer_group_beside(const char *own, const char *name,
			 char group[PATH_MAX]);

/*
 * The group of a step: its directory, made; "" with a host whose base is "".  name is one
 * component.  The group of the same name that an earlier step left is emptied
 * of its frozen state and used.  0 or an errno.
 */
int freezer_group_make(const struct freezer_host *h, const char *name,
		       char group[PATH_MAX]);
/* The calling process joins it, and so will its children.  0 or an errno. */
int freezer_group_enter(const char *group);
/* 0 or an errno: EBUSY as long as there are processes in it. */
int freezer_group_remove(const char *group);

struct freezer;

/*
 * A step to be frozen.  group: of freezer_group_make(), or any other v2 group
 * that is the step's alone.  root: the step's slurmstepd, which is never
 * frozen.  NULL and errno.
 */
struct freezer *freezer_open(enum freezer_kind kind, const char *group,
			     pid_t root);
/* Continues what it had stopped, and frees it; NULL is fine. */
void freezer_close(struct freezer *f);
/* Frees it and leaves the step as it is. */
void freezer_drop(struct freezer *f);

/*
 * Stop; continue.  What is in that state already costs nothing, unless again
 * is set: then everything is looked at anew.  0 or an errno; ENODEV: the step
 * is gone.
 */
int freezer_stop(struct freezer *f, bool again);
int freezer_continue(struct freezer *f, bool again);
bool freezer_stopped(const struct freezer *f);	/* as it was told last */

/* Do all processes really stand still, or are they gone? */
bool freezer_settled(struct freezer *f);

/* What the step consists of now: *pids is to be freed.  0 or an errno. */
int freezer_pids(struct freezer *f, pid_t **pids, size_t *n);

/* Why a step that stands still should not: a signal waits for one of its processes,
 * which that does not block; a debugger has hold of one. */
#define FREEZER_SIGNALLED 0x1u
#define FREEZER_TRACED 0x2u
unsigned int freezer_wants(struct freezer *f);
/* Does one of its processes run a program of this name, say "srun", that belongs to
 * the super-user: not just something of the user's that is called so? */
bool freezer_has(struct freezer *f, const char *name);
/* Is there one that runs the root's program: it has not yet become what the step
 * is to run? */
bool freezer_starting(struct freezer *f);

#endif
