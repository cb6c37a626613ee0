/*
 * proc_state.c - is a process stopped?  See proc_state.h, and /proc/PID/stat in
 * proc(5).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

bool proc_stopped(pid_t pid)
{
	char path[32], buf[1024], *end;
	const char *f;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, buf, sizeof(buf) - 1);
		close(fd);
	}
	if (n <= 0)
		return false;
	buf[n] = 0;
	/* the process's name may have blanks and parentheses */
	end = strrchr(buf, ')');
	if (!end || end[1] != ' ')
		return false;
	f = end + 2;
	return strchr("TtZX", f[STATE]) ||
	       proc_state_has_bit(proc_state_field(f, FLAGS), EXITING) ||
	       proc_state_has_bit(proc_state_field(f, PENDING), KILLED);
}
