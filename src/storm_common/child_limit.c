/*
 * child_limit.c - see child_limit.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child_limit.h"
#include "src/libstorm/base/clock.h"

#define KILL_LIMIT 1000 /* ms from SIGKILL to the end */
#define LOOK_EVERY 20	/* ms, where no descriptor is left to wait by */

/* 1: it has ended, with *status.  0: it has not.  -1: it is no child any more, and its
 * number may be another's. */
static int child_limit_wait(pid_t pid, int fd, int ms, int *status)
{
	uint64_t now = storm_now(), end = now + (uint64_t) ms * STORM_MS;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	bool dead = false; /* a debugger can keep it then */
	pid_t got;

	while ((got = waitpid(pid, status, WNOHANG)) != pid) {
		if (got < 0)
			return -1;
		if (dead || now >= end)
			return 0;
		ms = (int) ((end - now + STORM_MS - 1) / STORM_MS);
		dead = poll(&p, 1,
			    fd < 0 && ms > LOOK_EVERY ? LOOK_EVERY : ms) == 1;
		now = storm_now();
	}
	return 1;
}

int child_limit(pid_t pid, int ms, bool *late)
{
	int fd = pidfd_open(pid, 0), status = -1;
	int ended = child_limit_wait(pid, fd, ms, &status);

	if (late)
		*late = !ended;
	if (!ended) {
		kill(pid, SIGKILL);
		ended = child_limit_wait(pid, fd, KILL_LIMIT, &status);
	}
	if (fd >= 0)
		close(fd);
	return ended > 0 ? status : -1;
}
