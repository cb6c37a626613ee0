/*
 * freezer_private.h - the parts of the freezer (freezer.h), each uses those
 * below:
 *
 *	freezer.c	a step, with any mechanism
 *	freezer_group.c	... by its control group, of either version
 *	freezer_tree.c	... by signals to the tree of its processes
 *	freezer_idle.c	... gives way to others, by its cpu group
 *	freezer_host.c	where a host has control groups
 *	freezer_helper.c	which processes are Slurm's
 *	freezer_proc.c	processes, from /proc
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FREEZER_PRIVATE_H
#define STORM_FREEZER_PRIVATE_H

#include "freezer.h"

/* ------------------------------------------------------------------- a step --- */

/* freezer_idle.c: write its cpu.idle.  0 or an errno. */
int freezer_set_idle(struct freezer *f, bool on);

/* A growing list of processes. */
struct freezer_pid_list {
	pid_t *pid;
	size_t n, room;
};

/* A mechanism.  What returns int returns 0 or an errno. */
struct freezer_ops {
	int (*open)(struct freezer *f, const char *group);
	/* also after an open that failed */
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
	bool idled; /* its cpu.idle is 1 */
	int idle;   /* what is written to; -1 */
	pid_t root;
	/* freezer_group.c */
	int dir;   /* the group; -1 */
	int state; /* what is written to; -1 */
	int stat;  /* its CPU time; -1 */
	/* freezer_tree.c */
	struct freezer_member *member;
	size_t members, room;
};

/* ------------------------------------------------------------ control groups --- */

/* The kernel's file and words, for either version. */
struct freezer_words {
	const char *file, *stop, *cont;
};
const struct freezer_words *freezer_words_of(enum freezer_kind kind);

#define FREEZER_TREE "slurm-storm" /* the parent of all nodes' groups */
/* dir/name; 0 or ENAMETOOLONG. */
int freezer_path(char (*out)[PATH_MAX], const char *dir, const char *name);
/* The directory that holds this absolute path. */
void freezer_parent(char (*out)[PATH_MAX], const char *path);
/* Is it one component of a path, and not ".." or the like? */
bool freezer_name_is_plain(const char *name);
/* Write to a group's file.  0 or an errno. */
int freezer_group_write(const char *group, const char *name, const char *text);
/* Create it unless it exists.  0 or an errno. */
int freezer_dir_make(const char *path);
/* Create the directory of this node's groups, and its parent.  0 or an
 * errno. */
int freezer_base_make(const char *base);
/* Create a step's directory base/name, after base_make(base) if the last step of
 * another agent has removed that.  0 or an errno. */
int freezer_step_make(const char *base, const char *name,
		      int (*base_make)(const char *base),
		      char (*out)[PATH_MAX]);
/* The directory of this process's own v2 group; or that of version 1 with this
 * controller.  0 or an errno. */
int freezer_own_group(char (*out)[PATH_MAX]);
int freezer_own_group_of(const char *controller, char (*out)[PATH_MAX]);
/* The mount point of the groups of version 1 with this controller, and with which
 * others; NULL: of those of version 2.  "": not mounted. */
void freezer_mount_find(const char *controller, char (*out)[PATH_MAX],
			char (*others)[1024]);
bool freezer_list_has(const char *list, const char *word);

/* --------------------------------------------------------------- processes --- */

/* 0 or ENOMEM. */
int freezer_pid_list_add(struct freezer_pid_list *p, pid_t pid);

/* Does it run Slurm's program of this name?  (freezer_helper.c) */
bool freezer_helper_runs(pid_t pid, const char *name);
/* Do they run the same file? */
bool freezer_proc_same(pid_t a, pid_t b);
/* Its parent; 0: it is gone. */
pid_t freezer_proc_parent(pid_t pid);
/* When it was started, in clock ticks since boot; 0: it is gone. */
uint64_t freezer_proc_started(pid_t pid);
/* Is it stopped, or gone? */
bool freezer_proc_stands(pid_t pid);
/* The pending signals that it does not block, as bits, without those that stop or
 * continue. */
uint64_t freezer_proc_waiting(pid_t pid);
/* FREEZER_SIGNALLED, FREEZER_TRACED, both or 0. */
unsigned int freezer_proc_wants(pid_t pid);
/* Does a tracer wait for one of its threads to stop? */
bool freezer_proc_awaited(pid_t pid);

#endif
