/*
 * health_path.c - see health_path.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "health_path.h"

/* What is wrong with this part of the path, or NULL. */
static const char *health_path_fault(const struct stat *st, bool last)
{
	if (S_ISLNK(st->st_mode))
		return "is a symbolic link";
	if (st->st_uid)
		return "is not root's";
	/* the bits of an access control list show in the group's */
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "can be written by others than root";
	if (!last)
		return S_ISDIR(st->st_mode) ? NULL : "is no directory";
	if (!S_ISREG(st->st_mode))
		return "is no file";
	return st->st_mode & S_IXUSR ? NULL : "cannot be executed";
}

/* Judge what dir holds under this name, and take its place in *dir. */
static bool health_path_enter(int *dir, const char *name, const char *path,
			      int len, bool last, char (*why)[HEALTH_LINE])
{
	int fd = openat(*dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	const char *fault = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		fault = strerror(errno);
	else
		fault = health_path_fault(&st, last);
	close(*dir);
	*dir = fd;
	if (fault)
		snprintf(*why, sizeof(*why), "%.*s %s", len ? len : 1, path,
			 fault);
	return !fault;
}

bool health_path_is_safe(const char *path, char (*why)[HEALTH_LINE])
{
	char name[NAME_MAX + 1];
	int dir = open("/", O_PATH | O_CLOEXEC);
	const char *p = path;
	bool safe = *path == '/' &&
		    health_path_enter(&dir, ".", path, 0, false, why);

	while (safe && *p) {
		size_t len;

		p += strspn(p, "/");
		len = strcspn(p, "/");
		if (!len || len >= sizeof(name) || !strncmp(p, "..", len)) {
			snprintf(*why, sizeof(*why), "%s: give it in full",
				 path);
			safe = false;
			break;
		}
		memcpy(name, p, len);
		name[len] = '\0';
		p += len;
		safe = health_path_enter(&dir, name, path, (int) (p - path),
					 !*p, why);
	}
	if (dir >= 0)
		close(dir);
	return safe;
}
