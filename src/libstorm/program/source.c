/*
 * source.c - see source.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "source.h"

struct source {
	int fd;
	uint8_t *buf;
	size_t room;
	uint64_t off; /* buf has these bytes of the file */
	size_t len;
};

struct source *source_create(int fd, uint64_t len)
{
	struct source *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (s->fd < 0) {
		free(s);
		return NULL;
	}
	posix_fadvise(fd, 0, (off_t) len, POSIX_FADV_SEQUENTIAL);
	posix_fadvise(fd, 0, (off_t) len, POSIX_FADV_WILLNEED);
	return s;
}

void source_destroy(struct source *s)
{
	if (!s)
		return;
	close(s->fd);
	free(s->buf);
	free(s);
}

static bool source_room(struct source *s, size_t len)
{
	uint8_t *buf;

	if (len <= s->room)
		return true;
	buf = realloc(s->buf, len);
	if (!buf)
		return false;
	s->buf = buf;
	s->room = len;
	return true;
}

const void *source_bytes(void *arg, uint64_t off, size_t len, int *sys)
{
	struct source *s = arg;
	size_t have = 0;

	/* what the network had no room for is asked for again */
	if (off == s->off && len == s->len)
		return s->buf;
	s->len = 0;
	if (!source_room(s, len)) {
		*sys = ENOMEM;
		return NULL;
	}
	while (have < len) {
		ssize_t n = pread(s->fd, s->buf + have, len - have,
				  (off_t) (off + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			*sys = n ? errno : 0;
			return NULL;
		}
		have += (size_t) n;
	}
	s->off = off;
	s->len = len;
	return s->buf;
}
