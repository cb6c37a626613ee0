/*
 * freezer_helper.c - Slurm's helpers among a step's processes: srun, slurmstepd.
 *
 * They are known by their files.  A name proves nothing: in a user namespace any
 * user can mount a system's program at a path that ends in srun.  Files that
 * were seen once stay known: after an update the old ones still run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "freezer_private.h"
#include "src/storm_common/proc_state.h"

#define FILES_MAX 64
#define PATHS_MAX 64
#define LOOK_EVERY 1 /* s */

static struct {
	pthread_mutex_t lock;
	char *path[PATHS_MAX];
	size_t paths;
	struct {
		char name[32];
		dev_t dev;
		ino_t ino;
	} file[FILES_MAX]; /* a ring */
	size_t files;
	time_t looked;
} helper = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const char *freezer_helper_name(const char *path)
{
	const char *last = strrchr(path, '/');

	return last ? last + 1 : path;
}

static bool freezer_helper_knows(const struct stat *st, const char *name)
{
	for (size_t i = 0; i < FILES_MAX && i < helper.files; i++)
		if (helper.file[i].dev == st->st_dev &&
		    helper.file[i].ino == st->st_ino &&
		    !strcmp(helper.file[i].name, name))
			return true;
	return false;
}

static void freezer_helper_look_at(const char *path)
{
	const char *name = freezer_helper_name(path);
	struct stat st;
	size_t i;

	/* root's alone, or its content is a user's choice */
	if (stat(path, &st) || !S_ISREG(st.st_mode) || st.st_uid ||
	    st.st_mode & (S_IWGRP | S_IWOTH) || freezer_helper_knows(&st, name))
		return;
	i = helper.files++ % FILES_MAX;
	snprintf(helper.file[i].name, sizeof(helper.file[i].name), "%s", name);
	helper.file[i].dev = st.st_dev;
	helper.file[i].ino = st.st_ino;
}

static void freezer_helper_add_path(const char *path)
{
	char *copy = helper.paths < PATHS_MAX ? strdup(path) : NULL;

	if (copy)
		helper.path[helper.paths++] = copy;
}

static void freezer_helper_add_folder(const char *dir)
{
	static const char *const names[] = { "srun", "slurmstepd" };
	char path[PATH_MAX];

	for (int i = 0; *dir == '/' && i < 2; i++)
		if (!freezer_path(&path, dir, names[i]))
			freezer_helper_add_path(path);
}

/* Where Slurm was configured to be, where distributions put it, and where this
 * daemon would find it. */
static void freezer_helper_begin(void)
{
	const char *dirs = getenv("PATH");
	char *copy = strdup(dirs ? dirs : ""), *dir, *rest = NULL;

	freezer_helper_add_path(STORM_SRUN_PATH);
	freezer_helper_add_folder(SLURM_PREFIX "/bin");
	freezer_helper_add_folder(SLURM_PREFIX "/sbin");
	freezer_helper_add_folder("/usr/bin");
	freezer_helper_add_folder("/usr/sbin");
	dir = copy ? strtok_r(copy, ":", &rest) : NULL;
	for (; dir; dir = strtok_r(NULL, ":", &rest))
		freezer_helper_add_folder(dir);
	free(copy);
}

static void freezer_helper_look(bool now)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_BOOTTIME, &t);
	if (!helper.paths)
		freezer_helper_begin();
	else if (!now && t.tv_sec - helper.looked < LOOK_EVERY)
		return;
	helper.looked = t.tv_sec;
	for (size_t i = 0; i < helper.paths; i++)
		freezer_helper_look_at(helper.path[i]);
}

void freezer_helper_add(const char *path)
{
	pthread_mutex_lock(&helper.lock);
	freezer_helper_look(false);
	freezer_helper_add_path(path);
	freezer_helper_look(true);
	pthread_mutex_unlock(&helper.lock);
}

bool freezer_helper_runs(pid_t pid, const char *name)
{
	struct stat st;
	bool yes;

	if (!proc_program(pid, &st) || st.st_uid)
		return false;
	pthread_mutex_lock(&helper.lock);
	freezer_helper_look(false);
	yes = freezer_helper_knows(&st, name);
	pthread_mutex_unlock(&helper.lock);
	return yes;
}
