/*
 * freezer_group.c - a step's control group: create, join and remove it by its
 * path; stop and inspect it by its descriptors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "freezer_private.h"

/* ---------------------------------------------------------- by its path --- */

int freezer_group_write(const char *group, const char *name, const char *text)
{
	int dir = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd, err;

	if (dir < 0)
		return errno;
	fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
	err = fd < 0 || write(fd, text, strlen(text)) < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	close(dir);
	return err;
}

int freezer_group_make(const struct freezer_host *h, const char *name,
		       char (*group)[PATH_MAX])
{
	const struct freezer_words *words = freezer_words_of(h->kind);
	int err;

	**group = '\0';
	if (!*h->base)
		return 0;
	if (!freezer_name_is_plain(name))
		return EINVAL;
	err = freezer_step_make(h->base, name, freezer_base_make, group);
	if (!err)
		err = freezer_group_write(*group, words->file, words->cont);
	if (err)
		**group = '\0';
	return err;
}

int freezer_group_beside(const char *own, const char *name,
			 char (*group)[PATH_MAX])
{
	char dir[PATH_MAX], *last;
	int err = freezer_own_group(&dir);

	**group = '\0';
	if (err)
		return err;
	last = strrchr(dir, '/');
	if (strcmp(last + 1, own))
		return ENOENT;
	*last = '\0';
	err = freezer_path(group, dir, name);
	if (!err && access(*group, F_OK))
		err = errno;
	if (err)
		**group = '\0';
	return err;
}

int freezer_group_enter(const char *group)
{
	return *group ? freezer_group_write(group, "cgroup.procs", "0") : 0;
}

int freezer_group_remove(const char *group)
{
	return *group && rmdir(group) && errno != ENOENT ? errno : 0;
}

/* --------------------------------------------------------- by descriptor --- */

static int freezer_group_open(struct freezer *f, const char *group)
{
	f->dir = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->dir < 0)
		return errno;
	f->state = openat(f->dir, freezer_words_of(f->kind)->file,
			  O_RDWR | O_CLOEXEC);
	if (f->state < 0)
		return errno;
	if (f->kind == FREEZER_V2)
		f->stat = openat(f->dir, "cpu.stat", O_RDONLY | O_CLOEXEC);
	return 0;
}

static void freezer_group_close(struct freezer *f)
{
	if (f->state >= 0)
		close(f->state);
	if (f->stat >= 0)
		close(f->stat);
	if (f->dir >= 0)
		close(f->dir);
}

/* The kernel says ENODEV of a group that is gone, but ENOENT if it goes during the
 * write. */
static int freezer_group_write_state(struct freezer *f, const char *text)
{
	if (pwrite(f->state, text, strlen(text), 0) >= 0)
		return 0;
	return errno == ENOENT ? ENODEV : errno;
}

static int freezer_group_stop(struct freezer *f)
{
	return freezer_group_write_state(f, freezer_words_of(f->kind)->stop);
}

static int freezer_group_continue(struct freezer *f)
{
	return freezer_group_write_state(f, freezer_words_of(f->kind)->cont);
}

/* Does the group's file have this word, or line? */
static bool freezer_group_file_has(const struct freezer *f, const char *file,
				   const char *what)
{
	int fd = openat(f->dir, file, O_RDONLY | O_CLOEXEC);
	char buf[256];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[n < 0 ? 0 : n] = '\0';
	return strstr(buf, what);
}

static bool freezer_v1_settled(struct freezer *f)
{
	return freezer_group_file_has(f, "freezer.state", "FROZEN");
}

static bool freezer_v2_settled(struct freezer *f)
{
	return freezer_group_file_has(f, "cgroup.events", "frozen 1") ||
	       freezer_group_file_has(f, "cgroup.events", "populated 0");
}

/* Every group of version 2 has this file, whatever its controllers. */
static bool freezer_v2_used(struct freezer *f, uint64_t *ns)
{
	char text[64];
	ssize_t n = f->stat < 0 ? -1 :
				  pread(f->stat, text, sizeof(text) - 1, 0);

	text[n < 0 ? 0 : n] = '\0';
	if (sscanf(text, "usage_usec %" SCNu64, ns) != 1)
		return false;
	*ns *= 1000;
	return true;
}

/* ---------------------------------------------------------- what is in it --- */

/* Its processes, without those of groups below it. */
static int freezer_group_direct_pids(int dir, struct freezer_pid_list *p)
{
	int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC), pid;
	FILE *file;
	int err = 0;

	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		err = errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && fscanf(file, "%d", &pid) == 1)
		err = freezer_pid_list_add(p, pid);
	fclose(file);
	return err;
}

/* A borrowed group has groups below it, such as one for each task.  One that
 * disappears during the walk has no processes. */
static int freezer_group_all_pids(int dir, struct freezer_pid_list *p)
{
	int err = freezer_group_direct_pids(dir, p), fd, below;
	struct dirent *e;
	DIR *d = NULL;

	if (err)
		return err;
	fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !(d = fdopendir(fd)))
		close(fd);
	while (d && !err && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		below = openat(dir, e->d_name,
			       O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (below < 0)
			continue;
		err = freezer_group_all_pids(below, p);
		if (err == ENODEV || err == ENOENT)
			err = 0;
		close(below);
	}
	if (d)
		closedir(d);
	return err;
}

static int freezer_group_pids(struct freezer *f, struct freezer_pid_list *p)
{
	return freezer_group_all_pids(f->dir, p);
}

const struct freezer_ops freezer_v1_ops = {
	.open = freezer_group_open,
	.close = freezer_group_close,
	.stop = freezer_group_stop,
	.cont = freezer_group_continue,
	.settled = freezer_v1_settled,
	.pids = freezer_group_pids,
};

const struct freezer_ops freezer_v2_ops = {
	.open = freezer_group_open,
	.close = freezer_group_close,
	.stop = freezer_group_stop,
	.cont = freezer_group_continue,
	.settled = freezer_v2_settled,
	.pids = freezer_group_pids,
	.used = freezer_v2_used,
};
