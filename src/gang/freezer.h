/*
 * freezer.h - stop and continue all processes of a step in well under a
 * millisecond, when the gang's time slot ends or begins.
 *
 * Three mechanisms, in the order of preference:
 *	cgroup v2	"cgroup.freeze" of a group of the step's own; no process
 *			escapes, SIGKILL works, the parent is not notified.
 *	signals		SIGSTOP and SIGCONT to every descendant of the step's
 *			slurmstepd, those that have made sessions of their own
 *			and those whose parent has died included.
 *	cgroup v1	the freezer; it blocks even SIGKILL, so the caller must
 *			check for pending signals.
 * No Slurm header.  The step's owner provides the paths; no function follows a
 * link that another user could have made.  One struct freezer is for one thread
 * at a time.
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
	FREEZER_NONE, /* as a wish: the best available */
	FREEZER_V2,
	FREEZER_SIGNALS,
	FREEZER_V1
};
#define FREEZER_KINDS 4

/* "cgroup2", "signals", "freezer"; NULL for others.  freezer_kind_of() is the
 * inverse; FREEZER_NONE: no such name. */
const char *freezer_name(enum freezer_kind kind);
enum freezer_kind freezer_kind_of(const char *name);

/* The host's mechanism. */
struct freezer_host {
	enum freezer_kind kind;
	char base[PATH_MAX]; /* the groups' parent; "" with signals, and if
				   Slurm makes the groups */
	/* Where a step can give way to others (freezer_fill()): below this
	 * directory, by a group of its name; "": only as idle_job says */
	char idle[PATH_MAX];
	bool idle_job; /* it can by Slurm's v2 group of its job */
};

/*
 * Find the mechanism (wish: only this one) and make the directory of this
 * node's groups.  0, or an errno: the wish is not available.
 */
int freezer_host_find(struct freezer_host *h, enum freezer_kind wish,
		      const char *node);

/*
 * Find where steps of this host can give way: in groups of version 1 of the cpu
 * controller, below this process's own; in the step's own v2 group; or in Slurm's
 * for the job.  accounted: Slurm accounts by groups of version 1.  0, or an errno:
 * nowhere.
 */
int freezer_host_find_idle(struct freezer_host *h, const char *node,
			   bool accounted);

/* Gang scheduling has ended here: remove the directories of
 * freezer_host_find(), if no step is left; base is freezer_host's.
 * freezer_group_make() creates them again. */
void freezer_host_remove(const char *base);

/*
 * Use the v2 groups that Slurm makes for steps, because processes must stay in
 * them; make no groups.  0, or an errno: such groups cannot be frozen.
 */
int freezer_host_borrow(struct freezer_host *h);

/* Has this host only groups of version 2? */
bool freezer_host_pure(void);

/*
 * A borrowed group: name, a sibling of this process's own group, whose name is
 * own.  0 or an errno, ENOENT: there are no such groups.
 */
int freezer_group_beside(const char *own, const char *name,
			 char (*group)[PATH_MAX]);

/*
 * Make the group of a step; group is its directory, or "" if the host's base is
 * "".  name is one component.  If an earlier step left a group of this name,
 * thaw and use it.  0 or an errno.
 */
int freezer_group_make(const struct freezer_host *h, const char *name,
		       char (*group)[PATH_MAX]);
/* The directory whose cpu.idle makes the step give way, which is made if it is
 * ours; group: of freezer_group_make().  "": there is none. */
void freezer_idle_make(const struct freezer_host *h, const char *name,
		       const char *group, char (*idle)[PATH_MAX]);
/* The calling process joins it, with its future children.  0 or an errno. */
int freezer_group_enter(const char *group);
/* 0 or an errno: EBUSY while it has processes. */
int freezer_group_remove(const char *group);

struct freezer;
struct senders;

/*
 * A step to be frozen.  group: of freezer_group_make(), or any other v2 group
 * that is the step's alone.  root: the step's slurmstepd, which is never
 * frozen.  NULL and errno.
 */
struct freezer *freezer_open(enum freezer_kind kind, const char *group,
			     pid_t root);
/* Continue what it has stopped, and free it; NULL is allowed. */
void freezer_close(struct freezer *f);
/* By this directory it can fill; "": it cannot.  0 or an errno. */
int freezer_open_idle(struct freezer *f, const char *idle);
/* Free it and leave the step as it is. */
void freezer_drop(struct freezer *f);

/*
 * Stop; continue.  Does nothing if the step is in that state, unless again is
 * set.  0 or an errno; ENODEV: the step has ended.  After any other failure to
 * continue it counts as stopped, and the next call tries it again.
 */
int freezer_stop(struct freezer *f, bool again);
int freezer_continue(struct freezer *f, bool again);
bool freezer_stopped(const struct freezer *f); /* the last order */

/*
 * Continue a stopped step, but only while no other group wants the CPU (cpu.idle):
 * it fills the gaps of those that have it.  freezer_stop() and freezer_continue()
 * end that.  A step that runs must be stopped first: only so the kernel switches at
 * once.  0 or an errno.
 */
int freezer_fill(struct freezer *f);
bool freezer_can_fill(const struct freezer *f);
bool freezer_fills(const struct freezer *f); /* the last order */
/* Stopped or filling: not as it would be without us. */
static inline bool freezer_held(const struct freezer *f)
{
	return freezer_stopped(f) || freezer_fills(f);
}

/* Are all processes stopped by now, or gone? */
bool freezer_settled(struct freezer *f);

/* The CPU time that the step has used, in ns, of processes that have ended, too.
 * False: that is not known, as with other mechanisms than version 2. */
bool freezer_used(struct freezer *f, uint64_t *ns);

/* The step's processes now; the caller frees *pids.  0 or an errno. */
int freezer_pids(struct freezer *f, pid_t **pids, size_t *n);

/* Why a stopped step should run: one of its processes has a pending signal that
 * it does not block; a debugger traces one. */
#define FREEZER_SIGNALLED 0x1u
#define FREEZER_TRACED 0x2u
unsigned int freezer_wants(struct freezer *f);
/* Does a tracer wait for one of its threads to stop, which a frozen one of version 2
 * does not (PTRACE_ATTACH)? */
bool freezer_awaited(struct freezer *f);
/* Begin to ask who sent these signals (senders.h).  NULL and errno. */
struct senders *freezer_senders(struct freezer *f);
/* Does one of its processes run Slurm's program of this name, such as "srun"?
 * Another program of that name does not count. */
bool freezer_has(struct freezer *f, const char *name);
/* One more file of Slurm's programs, beside those of the installation. */
void freezer_helper_add(const char *path);
/* Does a process still run the program of root (slurmstepd), because it is
 * before exec()? */
bool freezer_starting(struct freezer *f);

#endif
