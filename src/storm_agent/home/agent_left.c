/*
 * agent_left.c - see agent_left.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* P_PIDFD */
#endif
#include "config.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"

#include "agent_left.h"
#include "src/storm_common/local/local.h"

#define LEFT_MAX 8

static struct {
	pid_t pid;
	int pidfd;
	bool child;
} left[LEFT_MAX];
static int nleft;

/* The state of a process, a letter as in ps(1); '?': unknown. */
static char agent_left_state(pid_t pid)
{
	char path[32], text[512] = "", *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
	f = fopen(path, "re");
	if (f) {
		if (!fgets(text, sizeof(text), f))
			*text = '\0';
		fclose(f);
	}
	p = strrchr(text, ')');
	return p && p[1] == ' ' ? p[2] : '?';
}

void agent_left_add(const char *node, pid_t pid, int pidfd, bool child)
{
	char path[PATH_MAX];

	error("storm: the agent (pid %d) does not die by SIGKILL: it hangs in the kernel, in state %c; it is left behind and another one starts",
	      pid, agent_left_state(pid));
	if (!local_path(NULL, node, path, sizeof(path)))
		unlink(path);
	left[nleft].pid = pid;
	left[nleft].pidfd = pidfd;
	left[nleft++].child = child;
}

void agent_left_bury(void)
{
	siginfo_t si;

	for (int i = 0; i < nleft; i++) {
		struct pollfd p = { .fd = left[i].pidfd, .events = POLLIN };

		if (poll(&p, 1, 0) != 1)
			continue;
		info("storm: the agent that was left behind (pid %d) has ended",
		     left[i].pid);
		if (left[i].child)
			waitid(P_PID, left[i].pid, &si, WEXITED);
		close(left[i].pidfd);
		left[i--] = left[--nleft];
	}
}

bool agent_left_full(void)
{
	return nleft == LEFT_MAX;
}
