/*
 * freezer_idle.c - a step's cpu group, by whose cpu.idle it gives way: the kernel
 * runs it only while no group beside it wants the CPU.  Threads of the idle class do
 * so only within one group, so it must be the group.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "freezer_private.h"

#define CPU_IDLE "cpu.idle"
#define CPU_SHARES "cpu.shares" /* version 1 only: then it is ours */
#define SHARES 1024		/* of one CPU, as the kernel gives a thread */
#define SHARES_MAX 262144	/* the kernel's own limit */

/* -------------------------------------------------------------- the host --- */

/* As many shares as threads on all CPUs would have: a group has the shares of one
 * thread, else. */
static void freezer_idle_shares(char (*text)[32])
{
	long n = sysconf(_SC_NPROCESSORS_ONLN) * SHARES;

	snprintf(*text, sizeof(*text), "%ld", n < SHARES_MAX ? n : SHARES_MAX);
}

static void freezer_idle_weigh(const char *group)
{
	char text[32];

	freezer_idle_shares(&text);
	freezer_group_write(group, CPU_SHARES, text);
}

static int freezer_idle_has_file(const char *group)
{
	char file[PATH_MAX];
	int err = freezer_path(&file, group, CPU_IDLE);

	return err ? err : access(file, W_OK) ? errno : 0;
}

static int freezer_idle_base_make(const char *base)
{
	char tree[PATH_MAX];
	int err = freezer_base_make(base);

	if (err)
		return err;
	freezer_parent(&tree, base);
	freezer_idle_weigh(tree);
	freezer_idle_weigh(base);
	return 0;
}

/* Groups of ours below this process's own.  Where the hierarchy also accounts, Slurm
 * may have its own groups there, and a process is in one only. */
static int freezer_idle_find_v1(char (*base)[PATH_MAX], const char *node,
				bool accounted)
{
	char own[PATH_MAX], tree[PATH_MAX], others[1024];
	int err;

	freezer_mount_find("cpu", &own, &others);
	if (!*own)
		return ENOENT;
	if (accounted && freezer_list_has(others, "cpuacct"))
		return EBUSY;
	err = freezer_own_group_of("cpu", &own);
	if (!err)
		err = freezer_path(&tree, own, FREEZER_TREE);
	if (!err)
		err = freezer_path(base, tree, node);
	if (!err)
		err = freezer_idle_base_make(*base);
	return err ? err : freezer_idle_has_file(*base);
}

/* The groups in which steps are stopped, if these have the cpu controller. */
static int freezer_idle_find_v2(char (*base)[PATH_MAX], const char *freezers)
{
	char tree[PATH_MAX];
	int err;

	strcpy(*base, freezers);
	freezer_parent(&tree, *base);
	err = freezer_group_write(tree, "cgroup.subtree_control", "+cpu");
	if (!err)
		err = freezer_group_write(*base, "cgroup.subtree_control",
					  "+cpu");
	return err ? err : freezer_idle_has_file(*base);
}

int freezer_host_find_idle(struct freezer_host *h, const char *node,
			   bool accounted)
{
	int err = freezer_idle_find_v1(&h->idle, node, accounted);

	if (err == ENOENT && h->kind == FREEZER_V2) {
		h->idle_job = !*h->base;
		if (h->idle_job)
			err = 0;
		else
			err = freezer_idle_find_v2(&h->idle, h->base);
	}
	if (err || h->idle_job)
		h->idle[0] = '\0';
	return err;
}

/* -------------------------------------------------------------- the step --- */

/* JOB/STEP/TASKS: two above. */
static int freezer_idle_of_job(const char *group, char (*idle)[PATH_MAX])
{
	char *last;

	strcpy(*idle, group);
	for (int i = 0; i < 2; i++) {
		last = strrchr(*idle, '/');
		if (!last)
			return ENOENT;
		*last = '\0';
	}
	return freezer_idle_has_file(*idle);
}

void freezer_idle_make(const struct freezer_host *h, const char *name,
		       const char *group, char (*idle)[PATH_MAX])
{
	int err = ENOENT;

	if (h->idle_job && *group) {
		err = freezer_idle_of_job(group, idle);
	} else if (*h->idle && freezer_name_is_plain(name)) {
		err = freezer_step_make(h->idle, name, freezer_idle_base_make,
					idle);
		if (!err)
			err = freezer_group_write(*idle, CPU_IDLE, "0");
		if (!err)
			freezer_idle_weigh(*idle);
	}
	if (err)
		**idle = '\0';
}

int freezer_open_idle(struct freezer *f, const char *idle)
{
	char file[PATH_MAX];
	int err;

	if (!*idle)
		return 0;
	err = freezer_path(&file, idle, CPU_IDLE);
	if (err)
		return err;
	f->idle = open(file, O_WRONLY | O_CLOEXEC);
	if (f->idle < 0)
		return errno;
	if (!freezer_path(&file, idle, CPU_SHARES))
		f->shares = open(file, O_WRONLY | O_CLOEXEC);
	freezer_idle_shares(&f->share);
	return 0;
}

/* The kernel gives a group that is idle no more the shares of one thread.  One that
 * goes during the write is as good as gone (freezer_group.c). */
int freezer_set_idle(struct freezer *f, bool on)
{
	if (pwrite(f->idle, on ? "1" : "0", 1, 0) < 0)
		return errno == ENOENT ? ENODEV : errno;
	/* if that fails it has less beside foreign load, and that is all */
	if (!on && f->shares >= 0)
		(void) !pwrite(f->shares, f->share, strlen(f->share), 0);
	f->idled = on;
	return 0;
}
