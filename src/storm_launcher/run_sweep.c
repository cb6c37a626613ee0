/*
 * run_sweep.c - see run_sweep.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run_sock.h"
#include "run_sweep.h"

/* A socket has its name a moment before anybody listens at it. */
#define SOCKET_AGE 60 /* s */

static void run_sweep_lock(const char *path, bool keeper)
{
	int fd = run_sock_lock(path, false);

	if (fd < 0)
		return;
	if (keeper)
		run_sock_remove(path, true);
	else
		unlink(path);
	close(fd);
}

static void run_sweep_socket(const char *path)
{
	struct timespec now;
	struct stat st;
	int fd;

	if (lstat(path, &st) || !S_ISSOCK(st.st_mode) ||
	    clock_gettime(CLOCK_REALTIME, &now) ||
	    now.tv_sec - st.st_mtime < SOCKET_AGE)
		return;
	fd = run_sock_connect(path);
	if (fd >= 0)
		close(fd);
	else if (errno == ECONNREFUSED)
		unlink(path);
}

static void run_sweep_name(const char *path, const char *part)
{
	char lock[RUN_SOCK_PATH];

	if (!strcmp(part, "keep") || !strcmp(part, "lock")) {
		run_sweep_lock(path, *part == 'k');
		return;
	}
	/* a keeper's socket goes with its lock */
	run_sock_beside(path, "keep", &lock);
	if (!strcmp(part, "sock") && access(lock, F_OK))
		run_sweep_socket(path);
}

/* The names are JOB.HOST.PART, and a job's number has no dot. */
void run_sweep(const char *socket)
{
	const char *own = strrchr(socket, '/') + 1;
	const char *host = strchr(own, '.');
	char dir[RUN_SOCK_PATH], path[RUN_SOCK_PATH + NAME_MAX];
	size_t job, len;
	struct dirent *e;
	DIR *d;

	snprintf(dir, sizeof(dir), "%.*s", (int) (own - socket), socket);
	d = host ? opendir(dir) : NULL;
	if (!d)
		return;
	job = (size_t) (host - own);
	len = (size_t) (strrchr(own, '.') - host) + 1;
	while ((e = readdir(d))) {
		const char *at = strchr(e->d_name, '.');

		if (!at || strncmp(at, host, len) ||
		    ((size_t) (at - e->d_name) == job &&
		     !strncmp(e->d_name, own, job)))
			continue;
		snprintf(path, sizeof(path), "%s%s", dir, e->d_name);
		run_sweep_name(path, at + len);
	}
	closedir(d);
}
