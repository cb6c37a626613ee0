/*
 * agent_turn.c - see agent_turn.h.
 *
 * The file "watch" in the node's directory has the pid of the slurmd that asked
 * last; a record lock on it is the turn.  Each slurmd looks now and then whether
 * the other has asked, or has given the turn away: that is rare, and inotify
 * instances are scarce.  A record lock ends with its process, and a child does not
 * inherit it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "agent_turn.h"
#include "src/storm_common/local/local.h"

#define PID_TEXT 12 /* all are of one length */
#define LOOK 200    /* ms */

static struct {
	int file; /* stays open: closing it would end the lock */
} turn = { .file = -1 };

static void agent_turn_sign(void)
{
	char text[PID_TEXT + 1];

	snprintf(text, sizeof(text), "%*d\n", PID_TEXT - 1, (int) getpid());
	/* if it fails, an older slurmd keeps the turn until it ends */
	if (pwrite(turn.file, text, PID_TEXT, 0) != PID_TEXT)
		return;
}

/* A pidfd of the slurmd that asked last, if that is another one and it lives;
 * else -1. */
static int agent_turn_other(void)
{
	struct pollfd p = { .fd = -1, .events = POLLIN };
	char text[PID_TEXT + 1] = "";
	pid_t pid = 0;

	if (pread(turn.file, text, sizeof(text) - 1, 0) == PID_TEXT)
		pid = atoi(text);
	if (pid > 0 && pid != getpid())
		p.fd = pidfd_open(pid, 0);
	if (p.fd >= 0 && poll(&p, 1, 0) == 1) { /* it has ended */
		close(p.fd);
		p.fd = -1;
	}
	return p.fd;
}

static bool agent_turn_lock(short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET };

	return !fcntl(turn.file, F_SETLK, &lock);
}

int agent_turn_begin(const char *rundir, const char *node)
{
	char path[PATH_MAX];
	int err = local_make_dir(rundir, node);

	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/%s/watch",
		 rundir ? rundir : STORM_RUNDIR, node);
	turn.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (turn.file < 0)
		return errno;
	agent_turn_sign();
	return 0;
}

void agent_turn_end(void)
{
	if (turn.file >= 0)
		close(turn.file);
	turn.file = -1;
}

bool agent_turn_wait(int wake)
{
	for (;;) {
		struct pollfd p[2] = {
			{ .fd = wake, .events = POLLIN },
			{ .fd = agent_turn_other(), .events = POLLIN },
		};
		bool mine = p[1].fd < 0 && agent_turn_lock(F_WRLCK);

		poll(p, 2, mine ? 0 : LOOK);
		if (p[1].fd >= 0)
			close(p[1].fd);
		if (p[0].revents)
			return false;
		if (mine) {
			agent_turn_sign(); /* the one that asked has ended */
			return true;
		}
	}
}

bool agent_turn_keep(void)
{
	int other = agent_turn_other();

	if (other >= 0)
		close(other);
	return other < 0;
}

void agent_turn_give(void)
{
	agent_turn_lock(F_UNLCK);
}
