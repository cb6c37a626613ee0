/*
 * unwind_map.c - see unwind_map.h.  /tmp is everybody's, so another user can have made a file of
 * that name; its words count for nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind_map.h"

/* The process's number as it knows it itself, in a container as well. */
static long map_own_pid(pid_t pid)
{
	char line[256], *last;
	long own = pid;
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/status", (int) pid);
	f = fopen(line, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "NSpid:", 6) && (last = strrchr(line, '\t')))
			sscanf(last, "%ld", &own);
	if (f)
		fclose(f);
	return own;
}

/* It may be a pipe, or no file of this user's. */
static FILE *map_open(pid_t pid)
{
	char path[PATH_MAX];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/root/tmp/perf-%ld.map",
		 (int) pid, map_own_pid(pid));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    st.st_uid == getuid())
		return fdopen(fd, "r");
	if (fd >= 0)
		close(fd);
	return NULL;
}

/* Each line is "start size name", both in hexadecimal. */
bool unwind_map_name(pid_t pid, uint64_t pc, char *out, size_t size)
{
	FILE *f = map_open(pid);
	char line[512];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		uint64_t start, len;
		int at = 0;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", &start, &len,
			   &at) != 2 ||
		    !at || !line[at] || pc < start || pc - start >= len)
			continue;
		snprintf(out, size, "%s", line + at);
		found = true;
	}
	if (f)
		fclose(f);
	return found;
}

bool unwind_map_python(char *name, size_t size)
{
	char function[512], *colon, *slash;

	if (strncmp(name, "py::", 4) || !(colon = strrchr(name, ':')) ||
	    colon < name + 5)
		return false;
	*colon++ = '\0';
	slash = strrchr(colon, '/');
	snprintf(function, sizeof(function), "py:%.200s (%.200s)", name + 4,
		 slash ? slash + 1 : colon);
	snprintf(name, size, "%s", function);
	return true;
}
