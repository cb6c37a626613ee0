/*
 * whole_file.c - write small files at once: see whole_file.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "whole_file.h"

static int whole_file_path(char out[PATH_MAX], const char *dir,
			   const char *prefix, const char *name)
{
	int n = snprintf(out, PATH_MAX, "%s/%s%s", dir, prefix, name);

	return n < 0 || n >= PATH_MAX ? ENAMETOOLONG : 0;
}

static int whole_file_write_new(const char *path, const void *buf, size_t len)
{
	int fd = open(path,
		      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		      0600),
	    err;
	ssize_t n;

	if (fd < 0)
		return errno;
	n = write(fd, buf, len);
	err = n < 0 ? errno : (size_t) n < len ? ENOSPC : 0;
	if (close(fd) && !err)
		err = errno;
	return err;
}

int whole_file_write(const char *dir, const char *name, const void *buf,
		     size_t len)
{
	char path[PATH_MAX], new[PATH_MAX];
	int err = whole_file_path(path, dir, "", name);

	if (!err)
		err = whole_file_path(new, dir, ".", name);
	if (err)
		return err;
	err = whole_file_write_new(new, buf, len);
	if (!err && rename(new, path))
		err = errno;
	if (err)
		unlink(new);
	return err;
}

ssize_t whole_file_read(const char *dir, const char *name, void *buf,
			size_t size)
{
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	errno = whole_file_path(path, dir, "", name);
	if (errno)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size);
	close(fd);
	return n;
}

void whole_file_remove(const char *dir, const char *name)
{
	char path[PATH_MAX];

	if (!whole_file_path(path, dir, "", name))
		unlink(path);
}
