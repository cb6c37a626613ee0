/*
 * whole_file.c - write small files at once: see whole_file.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "whole_file.h"

/* The head of a saved file: this, length, checksum, newline. */
#define HEAD "storm file 1"
#define HEAD_LEN (sizeof(HEAD) + 8 + 1 + 16 + 1)
#define HEAD_ROOM (HEAD_LEN + 16)
#define SAVED_MAX (64 << 20)

static int whole_file_path(char (*out)[PATH_MAX], const char *dir,
			   const char *prefix, const char *name)
{
	int n = snprintf(*out, sizeof(*out), "%s/%s%s", dir, prefix, name);

	return n < 0 || (size_t) n >= sizeof(*out) ? ENAMETOOLONG : 0;
}

/* All of it, or an errno. */
static int whole_file_put(int fd, const struct iovec *v, int parts, bool sync)
{
	size_t want = 0;
	ssize_t n = writev(fd, v, parts);

	for (int i = 0; i < parts; i++)
		want += v[i].iov_len;
	if (n < 0 || (size_t) n < want)
		return n < 0 ? errno : ENOSPC;
	return sync && fsync(fd) ? errno : 0;
}

static int whole_file_write_new(const char *path, const struct iovec *v,
				int parts, bool sync)
{
	int fd = open(path,
		      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		      0600),
	    err;

	if (fd < 0)
		return errno;
	err = whole_file_put(fd, v, parts, sync);
	if (close(fd) && !err)
		err = errno;
	return err;
}

/* The new name is on disk, too. */
static int whole_file_sync_dir(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (fsync(fd))
		err = errno;
	close(fd);
	return err;
}

static int whole_file_replace(const char *dir, const char *name,
			      const struct iovec *v, int parts, bool sync)
{
	char path[PATH_MAX], new[PATH_MAX];
	int err = whole_file_path(&path, dir, "", name);

	if (!err)
		err = whole_file_path(&new, dir, ".", name);
	if (err)
		return err;
	err = whole_file_write_new(new, v, parts, sync);
	if (!err && rename(new, path))
		err = errno;
	if (err)
		unlink(new);
	return err || !sync ? err : whole_file_sync_dir(dir);
}

int whole_file_write(const char *dir, const char *name, const void *buf,
		     size_t len)
{
	const struct iovec v = { (void *) buf, len };

	return whole_file_replace(dir, name, &v, 1, false);
}

ssize_t whole_file_read(const char *dir, const char *name, void *buf,
			size_t size)
{
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	errno = whole_file_path(&path, dir, "", name);
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

	if (!whole_file_path(&path, dir, "", name))
		unlink(path);
}

/* --------------------------------------------------- with a checksum --- */

/* FNV-1a.  Each step is a bijection of the sum so far, so two texts that differ
 * in one byte never have the same sum. */
uint64_t whole_file_sum(const void *buf, size_t len)
{
	const uint8_t *p = buf;
	uint64_t h = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3ULL;
	return h;
}

static void whole_file_head(char *head, size_t size, const void *buf,
			    size_t len)
{
	snprintf(head, size, HEAD " %08zx %016" PRIx64 "\n", len,
		 whole_file_sum(buf, len));
}

int whole_file_save(const char *dir, const char *name, const void *buf,
		    size_t len)
{
	char head[HEAD_ROOM];
	const struct iovec v[2] = { { head, HEAD_LEN }, { (void *) buf, len } };

	if (len > SAVED_MAX)
		return EFBIG;
	whole_file_head(head, sizeof(head), buf, len);
	return whole_file_replace(dir, name, v, 2, true);
}

/* The whole file with a NUL, malloc()ed; NULL and errno. */
static char *whole_file_take(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), err = 0;
	char *all = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st))
		err = errno;
	else if (!S_ISREG(st.st_mode) ||
		 st.st_size > (off_t) (HEAD_LEN + SAVED_MAX))
		err = EBADMSG;
	else if (!(all = calloc(1, (size_t) st.st_size + 1)))
		err = ENOMEM;
	else if (read(fd, all, (size_t) st.st_size) != st.st_size)
		err = EBADMSG;
	close(fd);
	if (err) {
		free(all);
		errno = err;
		return NULL;
	}
	*len = (size_t) st.st_size;
	return all;
}

int whole_file_load(const char *dir, const char *name, char **buf, size_t *len)
{
	char path[PATH_MAX], head[HEAD_ROOM], *all;
	int err = whole_file_path(&path, dir, "", name);
	size_t size;

	if (err)
		return err;
	all = whole_file_take(path, &size);
	if (!all)
		return errno;
	if (size >= HEAD_LEN)
		whole_file_head(head, sizeof(head), all + HEAD_LEN,
				size - HEAD_LEN);
	if (size < HEAD_LEN || memcmp(all, head, HEAD_LEN)) {
		free(all);
		return EBADMSG;
	}
	*len = size - HEAD_LEN;
	memmove(all, all + HEAD_LEN, *len + 1);
	*buf = all;
	return 0;
}
