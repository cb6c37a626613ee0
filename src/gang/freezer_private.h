/*
 * freezer_private.h - the parts of the freezer (freezer.h).  Each uses those
 * below it:
 *
 *	freezer.c	a step, with any mechanism
 *	freezer_group.c	stops it by its control group, of either version
 *	freezer_tree.c	stops it by signals to the tree of its processes
 *	freezer_idle.c	lets it give way to others, by its cpu group
 *	freezer_host.c	where a host has control groups
 *	freezer_helper.c	which processes are Slurm's
 *	freezer_proc.c	processes, from /proc
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FREEZER_PRIVATE_H
#define STORM_FREEZER_PRIVATE_H

#include "freezer.h"

/* -------------------------------------------------------------- a step --- */

/* freezer_idle.c: write the step's cpu.idle.  0 or an errno. */
int freezer_set_idle(struct freezer *f, bool on);

/* A growing list of processes. */
struct freezer_pid_list {
	pid_t *pid;
	size_t n, room;
};

/* A mechanism.  An int that is returned is 0 or an errno. */
struct freezer_ops {
	int (*open)(struct freezer *f, const char *group);
	/* Called after an open that failed, too. */
	void (*close)(struct freezer *f);
	int (*stop)(struct freezer *f);
	int (*cont)(struct freezer *f);
	bool (*settled)(struct freezer *f);
	int (*pids)(struct freezer *f, struct freezer_pid_list *out);
	bool (*used)(struct freezer *f, uint64_t *ns); /* NULL: never known */
};
extern const struct freezer_ops freezer_v1_ops, freezer_v2_ops;
extern const struct freezer_ops freezer_signals_ops;

struct freezer_member;

struct freezer {
	const struct freezer_ops *ops;
	enum freezer_kind kind;
	bool stopped;
	bool fills;
	bool idled; /* its cpu.idle may be 1 */
	int idle;   /* the descriptor of cpu.idle; -1: none */
	int shares; /* of cpu.shares, which is then this: */
	char share[32];
	pid_t root;
	/* freezer_group.c */
	int dir;   /* descriptors, or -1: of the group */
	int state; /* of the file that stops it */
	int stat;  /* of the file with its CPU time */
	/* freezer_tree.c */
	struct freezer_member *member;
	size_t members, room;
};

/* ------------------------------------------------------ control groups --- */

/* The kernel's file and words, for either version. */
struct freezer_words {
	const char *file, *stop, *cont;
};
const struct freezer_words *freezer_words_of(enum freezer_kind kind);

#define FREEZER_TREE "slurm-storm" /* the parent of all nodes' groups */
/* Write dir/name to *out.  0 or ENAMETOOLONG. */
int freezer_path(char (*out)[PATH_MAX], const char *dir, const char *name);
/* Write the directory that holds this absolute path to *out. */
void freezer_parent(char (*out)[PATH_MAX], const char *path);
/* Is it one component of a path, and not ".." or the like? */
bool freezer_name_is_plain(const char *name);
/* Write to a group's file.  0 or an errno. */
int freezer_group_write(const char *group, const char *name, const char *text);
/* Create a directory unless it exists.  0 or an errno. */
int freezer_dir_make(const char *path);
/* Create the directory of this node's groups, and its parent.  0 or an
 * errno. */
int freezer_base_make(const char *base);
/* Create a step's directory base/name, and write its path to *out.  If base is
 * gone, as the last step of another agent has removed it, call base_make(base)
 * before.  0 or an errno. */
int freezer_step_make(const char *base, const char *name,
		      int (*base_make)(const char *base),
		      char (*out)[PATH_MAX]);
/* Write the directory of this process's own v2 group to *out; or that of its
 * group of version 1 with this controller.  0 or an errno. */
int freezer_own_group(char (*out)[PATH_MAX]);
int freezer_own_group_of(const char *controller, char (*out)[PATH_MAX]);
/* Write the mount point of the groups of version 1 with this controller to
 * *out, and a list of all controllers there to *others.  controller NULL: of
 * version 2.  "": it is not mounted. */
void freezer_mount_find(const char *controller, char (*out)[PATH_MAX],
			char (*others)[1024]);
bool freezer_list_has(const char *list, const char *word);

/* ----------------------------------------------------------- processes --- */

/* Append a process.  0 or ENOMEM. */
int freezer_pid_list_add(struct freezer_pid_list *p, pid_t pid);

/* freezer_helper.c: does a process run Slurm's program of this name? */
bool freezer_helper_runs(pid_t pid, const char *name);
/* Do two processes run the same file? */
bool freezer_proc_same(pid_t a, pid_t b);
/* A process's parent; 0: the process is gone. */
pid_t freezer_proc_parent(pid_t pid);
/* When a process was started, in clock ticks since boot; 0: it is gone. */
uint64_t freezer_proc_started(pid_t pid);
/* Is a process stopped, or gone? */
bool freezer_proc_stands(pid_t pid);
/* The pending signals that a process does not block, as bits (1 << (number -
 * 1)), without those that stop or continue. */
uint64_t freezer_proc_waiting(pid_t pid);
/* FREEZER_SIGNALLED, FREEZER_TRACED, both or 0. */
unsigned int freezer_proc_wants(pid_t pid);
/* Does a tracer wait for one of a process's threads to stop? */
bool freezer_proc_awaited(pid_t pid);

#endif
