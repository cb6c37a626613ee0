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

#define KILL_LIMIT 1000 /* ms from SIGKILL to the end */

int child_limit(pid_t pid, int ms, bool *late)
{
	struct pollfd p = { .fd = pidfd_open(pid, 0), .events = POLLIN };
	/* without a descriptor there is no limit to wait for, but the kill's */
	bool killed = p.fd < 0 || poll(&p, 1, ms) < 1;
	int status;

	if (late)
		*late = killed;
	if (killed) {
		kill(pid, SIGKILL);
		poll(&p, 1, KILL_LIMIT);
	}
	if (p.fd >= 0)
		close(p.fd);
	return waitpid(pid, &status, WNOHANG) == pid ? status : -1;
}
