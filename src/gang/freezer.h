/*
 * freezer.h - stops and continues all processes of a step in well under a
 * millisecond, when the gang's time slot ends or begins.
 *
 * There are three mechanisms, in the order of preference:
 * 	cgroup v2	"cgroup.freeze" of a group of the step's own; no process
 * 			escapes, SIGKILL works, the parent is not notified.
 * 	signals		SIGSTOP and SIGCONT to every descendant of the step's
 * 			slurmstepd, also to those in sessions of their own and
 * 			those whose parent has died.
 * 	cgroup v1	the freezer; it blocks even SIGKILL, so the caller must
 * 			check for pending signals.
 * No function follows a link that another user could have made.  One thread at
 * a time uses a struct freezer.  No Slurm header.
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

/* The name of a kind: "cgroup2", "signals", "freezer"; NULL for others.
 * freezer_kind_of() is the inverse; FREEZER_NONE: no such name. */
const char *freezer_name(enum freezer_kind kind);
enum freezer_kind freezer_kind_of(const char *name);

/* The host's mechanism. */
struct freezer_host {
	enum freezer_kind kind;
	char base[PATH_MAX]; /* the groups' parent; "" with signals, and if
				   Slurm makes the groups */
	/* How a step can give way to others (freezer_fill()): by a group of its
	 * name below this directory; "": it cannot so */
	char idle[PATH_MAX];
	bool idle_job; /* it can by Slurm's v2 group of its job */
};

/*
 * Find the mechanism of this host, and make the directory of this node's
 * groups. wish: take this one and no other.  0, or an errno: it is not
 * available.
 */
int freezer_host_find(struct freezer_host *h, enum freezer_kind wish,
		      const char *node);

/*
 * Find how steps of this host can give way: by groups of version 1 of the cpu
 * controller, below this process's own; by the step's own v2 group; or by
 * Slurm's for the job.  accounted: Slurm accounts by groups of version 1.  0,
 * or an errno: they cannot.
 */
int freezer_host_find_idle(struct freezer_host *h, const char *node,
			   bool accounted);

/* Gang scheduling has ended here: remove the directories that
 * freezer_host_find() made, if no step is left.  base: that of struct
 * freezer_host. freezer_group_make() makes them again. */
void freezer_host_remove(const char *base);

/*
 * Use the v2 groups that Slurm makes for steps, and make none, because
 * processes must stay in Slurm's.  0, or an errno: such groups cannot be
 * frozen.
 */
int freezer_host_borrow(struct freezer_host *h);

/* Has this host only groups of version 2? */
bool freezer_host_pure(void);

/*
 * Set *group to a group that Slurm has made: the sibling `name` of this
 * process's own group, which must have the name `own`.  0 or an errno; ENOENT:
 * there are no such groups.
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
/* Set *idle to the directory whose cpu.idle makes the step give way, and
 * make it if it is not Slurm's; "": there is none.  group: of
 * freezer_group_make(). */
void freezer_idle_make(const struct freezer_host *h, const char *name,
		       const char *group, char (*idle)[PATH_MAX]);
/* Put the calling process into the group, with its future children.  0 or an
 * errno. */
int freezer_group_enter(const char *group);
/* Remove the group.  0 or an errno; EBUSY while it has processes. */
int freezer_group_remove(const char *group);

struct freezer;
struct senders;

/*
 * Open a step, to stop it.  group: of freezer_group_make(), or any other v2
 * group that is the step's alone.  root: the step's slurmstepd, which is never
 * stopped.  NULL and errno on failure.
 */
struct freezer *freezer_open(enum freezer_kind kind, const char *group,
			     pid_t root);
/* Continue what f has stopped, and free f; NULL is allowed. */
void freezer_close(struct freezer *f);
/* Let the step fill gaps by this directory, of freezer_idle_make(); "": it
 * cannot. 0 or an errno. */
int freezer_open_idle(struct freezer *f, const char *idle);
/* Free f, and leave the step as it is. */
void freezer_drop(struct freezer *f);

/*
 * Stop the step; continue it.  If it is in that state already, nothing is done,
 * unless again is set.  0 or an errno; ENODEV: the step has ended.  After any
 * other failure to continue, the step counts as stopped, and the next call
 * tries again.
 */
int freezer_stop(struct freezer *f, bool again);
int freezer_continue(struct freezer *f, bool again);
bool freezer_stopped(const struct freezer *f); /* the last order */

/*
 * Let the step run only while no other group wants the CPU (cpu.idle): it fills
 * gaps.  freezer_stop() and freezer_continue() end that.  If it was stopped, the
 * kernel switches at once.  If it runs, the kernel does so at its next tick, and
 * the step notices nothing, nor when freezer_continue() ends it.  0 or an errno: it
 * stands or runs as before.
 */
int freezer_fill(struct freezer *f);
/* Another step gives way by the same cpu.idle (struct freezer_host, idle_job), so the
 * next freezer_continue() leaves it as it is.  others false: none does, so that call
 * takes it back, whichever step has set it. */
void freezer_share_idle(struct freezer *f, bool others);
bool freezer_can_fill(const struct freezer *f);
bool freezer_fills(const struct freezer *f); /* the last order */
/* Is the step stopped, or does it fill?  Without STORM it would just run. */
static inline bool freezer_held(const struct freezer *f)
{
	return freezer_stopped(f) || freezer_fills(f);
}

/* Are all processes stopped by now, or gone? */
bool freezer_settled(struct freezer *f);

/* Set *ns to the CPU time that the step has used, also that of processes
 * that have ended.  False: it is not known, as with every mechanism but
 * version 2. */
bool freezer_used(struct freezer *f, uint64_t *ns);

/* Set *pids to the step's processes; the caller frees it.  0 or an errno. */
int freezer_pids(struct freezer *f, pid_t **pids, size_t *n);

/* Why should a stopped step run?  One of its processes has a pending signal
 * that it does not block; a debugger traces one.  Both, or 0. */
#define FREEZER_SIGNALLED 0x1u
#define FREEZER_TRACED 0x2u
unsigned int freezer_wants(struct freezer *f);
/* Does a tracer wait for one of the step's threads to stop (PTRACE_ATTACH)?  A
 * thread that is frozen by version 2 cannot do that. */
bool freezer_awaited(struct freezer *f);
/* Begin to ask whether root sent these signals (senders.h).  NULL and errno on
 * failure. */
struct senders *freezer_senders(struct freezer *f);
/* Does one of the step's processes run Slurm's program of this name, such as
 * "srun"? Another program of that name does not count. */
bool freezer_has(struct freezer *f, const char *name);
/* Count this file as one of Slurm's programs, too.  Not thread-safe. */
void freezer_helper_add(const char *path);
/* Does one of the step's processes still run the program of root (slurmstepd),
 * as it does until exec()? */
bool freezer_starting(struct freezer *f);

#endif
