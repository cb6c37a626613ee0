/*
 * freezer_host.c - how a host stops processes, and where it has control groups.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "freezer_private.h"

/* ----------------------------------------------------------------- names --- */

static const char *const freezer_names[FREEZER_KINDS] = {
	[FREEZER_V2] = "cgroup2",
	[FREEZER_SIGNALS] = "signals",
	[FREEZER_V1] = "freezer",
};

const char *freezer_name(enum freezer_kind kind)
{
	return (unsigned int) kind < FREEZER_KINDS ? freezer_names[kind] : NULL;
}

enum freezer_kind freezer_kind_of(const char *name)
{
	for (int i = FREEZER_V2; i < FREEZER_KINDS; i++)
		if (!strcmp(name, freezer_names[i]))
			return i;
	return FREEZER_NONE;
}

const struct freezer_words *freezer_words_of(enum freezer_kind kind)
{
	static const struct freezer_words v1 = { "freezer.state", "FROZEN",
						 "THAWED" },
					  v2 = { "cgroup.freeze", "1", "0" };

	return kind == FREEZER_V2 ? &v2 : &v1;
}

/* ----------------------------------------------------------------- paths --- */

int freezer_path(char (*out)[PATH_MAX], const char *dir, const char *name)
{
	int n = snprintf(*out, sizeof(*out), "%s/%s", dir, name);

	return n < 0 || (size_t) n >= sizeof(*out) ? ENAMETOOLONG : 0;
}

void freezer_parent(char (*out)[PATH_MAX], const char *path)
{
	strcpy(*out, path);
	*strrchr(*out, '/') = '\0';
}

bool freezer_name_is_plain(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/');
}

int freezer_dir_make(const char *path)
{
	return mkdir(path, 0755) && errno != EEXIST ? errno : 0;
}

static int freezer_dir_remove(const char *path)
{
	return rmdir(path) ? errno : 0;
}

/*
 * Make or remove the parent of all nodes' groups.  The kernel gives the root group
 * mode 0555, and the agent has dropped CAP_DAC_OVERRIDE, by which root writes
 * there all the same.  But root owns the group, so it may allow itself to, for a
 * moment.  The lock keeps two agents from each other's moments.  0 or an errno.
 */
static int freezer_tree_change(const char *tree, int (*change)(const char *))
{
	char parent[PATH_MAX];
	struct stat st;
	int err = change(tree), dir;

	if (err != EACCES)
		return err;
	freezer_parent(&parent, tree);
	dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err;
	if (!flock(dir, LOCK_EX) && !fstat(dir, &st) &&
	    !fchmod(dir, (st.st_mode & ALLPERMS) | S_IWUSR)) {
		err = change(tree);
		fchmod(dir, st.st_mode & ALLPERMS);
	}
	close(dir);
	return err;
}

/* Retry: another node's last step may remove the empty parent meanwhile. */
int freezer_base_make(const char *base)
{
	char tree[PATH_MAX];
	int err = ENOENT;

	freezer_parent(&tree, base);
	for (int i = 0; i < 3 && err == ENOENT; i++) {
		err = freezer_tree_change(tree, freezer_dir_make);
		if (!err)
			err = freezer_dir_make(base);
	}
	return err;
}

int freezer_step_make(const char *base, const char *name,
		      int (*base_make)(const char *base), char (*out)[PATH_MAX])
{
	int err = freezer_path(out, base, name);

	if (!err)
		err = freezer_dir_make(*out);
	if (err == ENOENT && !(err = base_make(base)))
		err = freezer_dir_make(*out);
	return err;
}

/* Is word in a list with commas? */
bool freezer_list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p += len)
		if ((p == list || p[-1] == ',') &&
		    (!p[len] || strchr(",:\n", p[len])))
			return true;
	return false;
}

void freezer_mount_find(const char *controller, char (*out)[PATH_MAX],
			char (*others)[1024])
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, point[PATH_MAX], type[32], *rest;
	size_t room = 0;

	**out = '\0';
	while (f && !**out && getline(&line, &room, f) > 0) {
		rest = strstr(line, " - ");
		if (!rest ||
		    sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1 ||
		    sscanf(rest, " - %31s %*s %1023s", type, *others) != 2)
			continue;
		if (controller ? !strcmp(type, "cgroup") &&
					 freezer_list_has(*others, controller) :
				 !strcmp(type, "cgroup2"))
			strcpy(*out, point);
	}
	free(line);
	if (f)
		fclose(f);
}

/* The mount point of groups of that kind; "": not mounted. */
static void freezer_mount_of(enum freezer_kind kind, char (*out)[PATH_MAX])
{
	char others[1024];

	freezer_mount_find(kind == FREEZER_V2 ? NULL : "freezer", out, &others);
}

/* A line of /proc/self/cgroup: NUMBER:CONTROLLERS:/PATH.  NULL: of others. */
static const char *freezer_line_path(const char *line, const char *controller)
{
	const char *list = strchr(line, ':'), *path;

	path = list ? strchr(list + 1, ':') : NULL;
	if (!path || path[1] != '/')
		return NULL;
	if (controller ? freezer_list_has(list + 1, controller) :
			 !strncmp(line, "0::", 3))
		return path + 2;
	return NULL;
}

int freezer_own_group_of(const char *controller, char (*out)[PATH_MAX])
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char *line = NULL, point[PATH_MAX], others[1024];
	const char *path;
	size_t room = 0;
	int err = ENOENT;

	freezer_mount_find(controller, &point, &others);
	while (f && *point && err == ENOENT && getline(&line, &room, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		path = freezer_line_path(line, controller);
		if (path)
			err = freezer_path(out, point, path);
	}
	free(line);
	if (f)
		fclose(f);
	return err;
}

int freezer_own_group(char (*out)[PATH_MAX])
{
	return freezer_own_group_of(NULL, out);
}

/* -------------------------------------------------------------- the host --- */

static int freezer_host_find_groups(struct freezer_host *h,
				    enum freezer_kind kind, const char *node)
{
	char point[PATH_MAX], tree[PATH_MAX], file[PATH_MAX];
	int err;

	freezer_mount_of(kind, &point);
	if (!*point)
		return ENOENT;
	err = freezer_path(&tree, point, FREEZER_TREE);
	if (!err)
		err = freezer_path(&h->base, tree, node);
	if (!err)
		err = freezer_base_make(h->base);
	if (!err)
		err = freezer_path(&file, h->base,
				   freezer_words_of(kind)->file);
	/* a kernel before 5.2 cannot freeze a v2 group */
	if (!err && access(file, W_OK))
		err = errno;
	if (!err)
		h->kind = kind;
	return err;
}

int freezer_host_find(struct freezer_host *h, enum freezer_kind wish,
		      const char *node)
{
	int err;

	if (!freezer_name_is_plain(node))
		return EINVAL;
	h->idle[0] = '\0';
	h->idle_job = false;
	if (wish != FREEZER_SIGNALS) {
		err = freezer_host_find_groups(
			h, wish == FREEZER_V1 ? FREEZER_V1 : FREEZER_V2, node);
		if (!err || wish != FREEZER_NONE)
			return err;
	}
	h->kind = FREEZER_SIGNALS;
	h->base[0] = '\0';
	return 0;
}

void freezer_host_remove(const char *base)
{
	char tree[PATH_MAX];

	if (*base && !rmdir(base)) {
		freezer_parent(&tree, base);
		freezer_tree_change(tree, freezer_dir_remove);
	}
}

/* Version 2 is the last one in the list. */
bool freezer_host_pure(void)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	bool pure = f && getc(f) == '0';

	if (f)
		fclose(f);
	return pure;
}

int freezer_host_borrow(struct freezer_host *h)
{
	char own[PATH_MAX], file[PATH_MAX];
	int err = freezer_own_group(&own);

	if (!err)
		err = freezer_path(&file, own,
				   freezer_words_of(FREEZER_V2)->file);
	if (!err && access(file, W_OK))
		err = errno;
	if (err)
		return err;
	h->kind = FREEZER_V2;
	h->base[0] = h->idle[0] = '\0';
	h->idle_job = false;
	return 0;
}
