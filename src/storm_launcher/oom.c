/*
 * oom.c - see oom.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oom.h"

/* Is this word one of a list with commas? */
static bool oom_lists(const char *list, size_t len, const char *word)
{
	const char *end = list + len;

	while (list < end) {
		const char *comma = memchr(list, ',', (size_t) (end - list));
		size_t n = (size_t) ((comma ? comma : end) - list);

		if (n == strlen(word) && !strncmp(list, word, n))
			return true;
		list += n + 1;
	}
	return false;
}

/* The path of the group of memory, of version 1 if there is one; its length, or 0. */
static size_t oom_group(const char *groups, bool *second, const char **path)
{
	size_t found = 0;

	for (const char *line = groups; line; line = strchr(line, '\n')) {
		const char *names, *at;
		size_t len;

		line += *line == '\n';
		len = strcspn(line, "\n");
		names = memchr(line, ':', len);
		at = names ? memchr(names + 1, ':',
				    len - (size_t) (names + 1 - line)) :
			     NULL;
		if (!at)
			continue;
		*second = at == names + 1;
		if (*second ? found :
			      !oom_lists(names + 1, (size_t) (at - names - 1),
					 "memory"))
			continue;
		*path = at + 1;
		found = len - (size_t) (at + 1 - line);
		if (!*second)
			break;
	}
	return found;
}

/* Where the hierarchy is mounted, and which part of it: the words of a line. */
struct oom_mount {
	char root[PATH_MAX], point[PATH_MAX];
};

static bool oom_mount(const char *mounts, bool second, struct oom_mount *m)
{
	for (const char *line = mounts; line; line = strchr(line, '\n')) {
		char kind[32], options[512];
		const char *rest;
		size_t len;

		line += *line == '\n';
		len = strcspn(line, "\n");
		rest = memmem(line, len, " - ", 3);
		if (!rest ||
		    sscanf(line, "%*s %*s %*s %4095s %4095s", m->root,
			   m->point) != 2 ||
		    sscanf(rest, " - %31s %*s %511s", kind, options) != 2)
			continue;
		if (second ? !strcmp(kind, "cgroup2") :
			     !strcmp(kind, "cgroup") &&
				     oom_lists(options, strlen(options),
					       "memory"))
			return true;
	}
	return false;
}

bool oom_path(const char *groups, const char *mounts, char *out, size_t size)
{
	bool second = false;
	struct oom_mount m;
	const char *path = "";
	size_t len = oom_group(groups, &second, &path), root;
	int n;

	if (!len || !oom_mount(mounts, second, &m))
		return false;
	/* a part of the hierarchy can be mounted alone */
	root = strcmp(m.root, "/") ? strlen(m.root) : 0;
	if (root && (root > len || strncmp(path, m.root, root) != 0))
		return false;
	n = snprintf(out, size, "%s%.*s/%s", m.point, (int) (len - root),
		     path + root,
		     second ? "memory.events" : "memory.oom_control");
	return n > 0 && (size_t) n < size;
}

uint64_t oom_count(const char *text)
{
	const char *name = "oom_kill ";

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, strlen(name)))
			return strtoull(line + strlen(name), NULL, 10);
	}
	return 0;
}

/* ------------------------------------------------------------------- this group --- */

static int oom_fd = -1;

/* The caller frees it; NULL: it cannot be read. */
static char *oom_read(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;

	if (!f)
		return NULL;
	if (getdelim(&text, &room, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

void oom_open(void)
{
	char *groups = oom_read("/proc/self/cgroup");
	char *mounts = oom_read("/proc/self/mountinfo");
	char path[PATH_MAX];

	if (groups && mounts && oom_path(groups, mounts, path, sizeof(path)))
		oom_fd = open(path, O_RDONLY | O_CLOEXEC);
	free(groups);
	free(mounts);
}

uint64_t oom_now(void)
{
	char text[512];
	ssize_t n = oom_fd < 0 ? 0 : pread(oom_fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	return oom_count(text);
}
