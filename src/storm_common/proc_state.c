/*
 * proc_state.c - is a process stopped, and which program does it run?  See
 * proc_state.h, and /proc/PID/stat and /proc/PID/exe in proc(5).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "proc_state.h"

/* Indices of the fields after the name, from 0. */
#define STATE 0
#define FLAGS 6
#define PENDING 28

#define EXITING 0x4ul		      /* in FLAGS */
#define KILLED (1ul << (SIGKILL - 1)) /* in PENDING */

/* The text of field n; NULL: there are not so many. */
static const char *proc_state_field(const char *p, int n)
{
	while (p && n--) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	return p;
}

static bool proc_state_has_bit(const char *number, unsigned long bit)
{
	return number && strtoul(number, NULL, 10) & bit;
}

ssize_t proc_read(pid_t pid, const char *file, char *buf, size_t size)
{
	char path[96];
	ssize_t n;
	int fd;

	buf[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/%s", (int) pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	buf[n < 0 ? 0 : n] = '\0';
	return n;
}

/* The fields from STATE on, in buf, which follow the process's name.  NULL: they cannot be
 * read.  The name may have blanks and parentheses. */
static const char *proc_state_fields(pid_t pid, char *buf, size_t size)
{
	char *end;

	proc_read(pid, "stat", buf, size);
	end = strrchr(buf, ')');
	return end && end[1] == ' ' ? end + 2 : NULL;
}

char proc_letter(pid_t pid)
{
	char buf[1024];
	const char *f = proc_state_fields(pid, buf, sizeof(buf));

	return f ? f[STATE] : '?';
}

bool proc_stopped(pid_t pid)
{
	char buf[1024];
	const char *f = proc_state_fields(pid, buf, sizeof(buf));

	return f && (strchr("TtZX", f[STATE]) ||
		     proc_state_has_bit(proc_state_field(f, FLAGS), EXITING) ||
		     proc_state_has_bit(proc_state_field(f, PENDING), KILLED));
}

/* A program may be in a user's FUSE or on a server that does not answer any more.
 * So the kernel must not ask there what the file's attributes are: the number of a
 * file that is in use does not change. */
bool proc_program(pid_t pid, struct stat *out)
{
	struct statx s;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int) pid);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO | STATX_UID,
		  &s))
		return false;
	*out = (struct stat) {
		.st_dev = makedev(s.stx_dev_major, s.stx_dev_minor),
		.st_ino = s.stx_ino,
		.st_uid = s.stx_uid,
	};
	return true;
}

bool proc_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}
