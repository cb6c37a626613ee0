/*
 * proc_state.c - see proc_state.h, and proc(5), /proc/PID/stat.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc_state.h"

bool proc_stopped(pid_t pid)
{
	char path[32], buf[128], *end;
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
	/* the name before it may have blanks and parentheses itself */
	end = strrchr(buf, ')');
	return end && end[1] == ' ' && (end[2] == 'T' || end[2] == 't');
}
