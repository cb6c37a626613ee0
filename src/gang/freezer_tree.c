/*
 * freezer_tree.c - stop a step by signals to its tree of processes: every
 * descendant of its slurmstepd.  That includes processes in sessions of their
 * own, and those whose parent has died.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "freezer_private.h"

/* So many processes of a step are held by their pidfds: a user must not use up the
 * agent's descriptors.  The others are known by their start. */
#define PIDFDS_MAX 256

/* A process of the step. */
struct freezer_member {
	pid_t pid;
	int pidfd; /* -1: compare the start before each signal */
	uint64_t started;
};

/* --------------------------------------------------------------- members --- */

static void freezer_tree_forget(struct freezer *f, size_t i)
{
	if (f->member[i].pidfd >= 0)
		close(f->member[i].pidfd);
	f->member[i] = f->member[--f->members];
}

static bool freezer_tree_knows(const struct freezer *f, pid_t pid)
{
	for (size_t i = 0; i < f->members; i++)
		if (f->member[i].pid == pid)
			return true;
	return false;
}

static void freezer_tree_let_go(struct freezer_member *m)
{
	m->started = freezer_proc_started(m->pid);
	close(m->pidfd);
	m->pidfd = -1;
}

/* A child of parent.  It is asked again for its parent once its pidfd holds it:
 * the pid may have become another process's since the list was read. */
static int freezer_tree_add(struct freezer *f, pid_t pid, pid_t parent)
{
	struct freezer_member *m;

	if (f->members == f->room) {
		size_t room = f->room ? 2 * f->room : 16;

		m = realloc(f->member, room * sizeof(*m));
		if (!m)
			return ENOMEM;
		f->member = m;
		f->room = room;
	}
	m = &f->member[f->members];
	m->pid = pid;
	m->pidfd = pidfd_open(pid, 0);
	if (m->pidfd < 0)
		return errno == ESRCH ? 0 : errno;
	f->members++;
	if (freezer_proc_parent(pid) != parent)
		freezer_tree_forget(f, f->members - 1);
	else if (f->members > PIDFDS_MAX)
		freezer_tree_let_go(m);
	return 0;
}

/* 0, or -1 and errno; ESRCH: it is gone. */
static int freezer_tree_send(const struct freezer_member *m, int sig)
{
	int fd, rc, err;

	if (m->pidfd >= 0)
		return pidfd_send_signal(m->pidfd, sig, NULL, 0);
	fd = pidfd_open(m->pid, 0);
	if (fd < 0)
		return -1;
	rc = -1;
	err = ESRCH;
	if (freezer_proc_started(m->pid) == m->started) {
		rc = pidfd_send_signal(fd, sig, NULL, 0);
		err = errno;
	}
	close(fd);
	errno = err;
	return rc;
}

/* Drop processes that are gone: their pids may be reused. */
static void freezer_tree_forget_dead(struct freezer *f)
{
	for (size_t i = f->members; i--;)
		if (freezer_tree_send(&f->member[i], 0) && errno == ESRCH)
			freezer_tree_forget(f, i);
}

/* ------------------------------------------------------------------ walk --- */

/* Never stop slurmstepd and srun: they carry the step's output and exits. */
static bool freezer_tree_exempts(pid_t pid)
{
	return freezer_helper_runs(pid, "slurmstepd") ||
	       freezer_helper_runs(pid, "srun");
}

/* Add the children of one thread.  *news counts new ones. */
static int freezer_tree_take_thread(struct freezer *f, pid_t pid,
				    const char *thread, size_t *news)
{
	char path[64], *line = NULL, *p, *end;
	size_t room = 0;
	int err = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", pid,
		 thread);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (getline(&line, &room, file) > 0) {
		for (p = line; !err; p = end) {
			pid_t child = strtol(p, &end, 10);

			if (end == p)
				break;
			if (freezer_tree_knows(f, child) ||
			    freezer_tree_exempts(child))
				continue;
			err = freezer_tree_add(f, child, pid);
			(*news)++;
		}
	}
	free(line);
	fclose(file);
	return err;
}

static int freezer_tree_take_children(struct freezer *f, pid_t pid,
				      size_t *news)
{
	char path[32];
	struct dirent *e;
	DIR *d;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		return 0; /* it has ended */
	while (!err && (e = readdir(d)))
		if (e->d_name[0] != '.')
			err = freezer_tree_take_thread(f, pid, e->d_name, news);
	closedir(d);
	return err;
}

/*
 * Find new processes, from the root and from every known one.  A process whose
 * parent has died has no parent in the step, but it is known, so its children
 * are found.
 */
static int freezer_tree_walk(struct freezer *f, size_t *news)
{
	int err;

	*news = 0;
	freezer_tree_forget_dead(f);
	err = freezer_tree_take_children(f, f->root, news);
	/* the list grows in the loop */
	for (size_t i = 0; !err && i < f->members; i++)
		err = freezer_tree_take_children(f, f->member[i].pid, news);
	return err;
}

/* ------------------------------------------------------------ operations --- */

static int freezer_tree_open(struct freezer *f, const char *group)
{
	(void) f;
	(void) group;
	return 0;
}

static void freezer_tree_close(struct freezer *f)
{
	while (f->members)
		freezer_tree_forget(f, f->members - 1);
	free(f->member);
}

static void freezer_tree_signal(struct freezer *f, int sig)
{
	for (size_t i = 0; i < f->members; i++)
		freezer_tree_send(&f->member[i], sig);
}

/* A stopped process forks no more.  So stop the known ones, then their
 * children, until there are no new ones. */
static int freezer_tree_stop(struct freezer *f)
{
	size_t news;
	int err;

	freezer_tree_signal(f, SIGSTOP);
	do {
		err = freezer_tree_walk(f, &news);
		if (news)
			freezer_tree_signal(f, SIGSTOP);
	} while (!err && news);
	return err;
}

static int freezer_tree_continue(struct freezer *f)
{
	size_t news;
	int err = 0;

	/* The list is empty if another process has stopped them: walk. */
	if (!f->members)
		err = freezer_tree_walk(f, &news);
	freezer_tree_signal(f, SIGCONT);
	return err;
}

static bool freezer_tree_settled(struct freezer *f)
{
	size_t news = 0;

	if (freezer_tree_walk(f, &news) || news)
		return false;
	for (size_t i = 0; i < f->members; i++)
		if (!freezer_proc_stands(f->member[i].pid))
			return false;
	return true;
}

static int freezer_tree_pids(struct freezer *f, struct freezer_pid_list *p)
{
	size_t news;
	int err = freezer_tree_walk(f, &news);

	for (size_t i = 0; !err && i < f->members; i++)
		err = freezer_pid_list_add(p, f->member[i].pid);
	return err;
}

const struct freezer_ops freezer_signals_ops = {
	.open = freezer_tree_open,
	.close = freezer_tree_close,
	.stop = freezer_tree_stop,
	.cont = freezer_tree_continue,
	.settled = freezer_tree_settled,
	.pids = freezer_tree_pids,
};
