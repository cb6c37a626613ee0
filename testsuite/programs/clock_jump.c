/*
 * clock_jump.c - preloaded: the wall clock is as many seconds off as a file says, which
 * CLOCK_JUMP names.  Without the file it is right.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int rc = (int) syscall(SYS_clock_gettime, id, ts), fd, err = errno;
	const char *file = getenv("CLOCK_JUMP");
	char text[32];
	ssize_t n;

	if (rc || id != CLOCK_REALTIME || !file)
		return rc;
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = '\0';
		ts->tv_sec += atol(text);
		close(fd);
	}
	errno = err;
	return 0;
}
