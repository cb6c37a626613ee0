/*
 * agent_turn.c - see agent_turn.h.
 *
 * The file "watch" in the node's directory has the pid of the slurmd that asked
 * last; a record lock on it is the turn.  By inotify each slurmd sees that the
 * other has asked, has given the turn away, or has ended.  Where the system has
 * no inotify instance left it looks now and then.  A record lock ends with its
 * process, and a child does not inherit it.
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
#include <sys/inotify.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "agent_turn.h"
#include "src/plugins/switch/storm/local/local.h"

#define PID_TEXT 12 /* all are of one length */
#define LOOK 200    /* ms, without inotify */

static struct {
	int file;   /* stays open: closing it would end the lock */
	int events; /* -1: there is no inotify */
} t = { .file = -1, .events = -1 };

static void agent_turn_sign(void)
{
	char text[PID_TEXT + 1];

	snprintf(text, sizeof(text), "%*d\n", PID_TEXT - 1, (int) getpid());
	/* if it fails, an older slurmd keeps the turn until it ends */
	if (pwrite(t.file, text, PID_TEXT, 0) != PID_TEXT)
		return;
}

/* A pidfd of the slurmd that asked last, if that is another one and it lives;
 * else -1. */
static int agent_turn_other(void)
{
	struct pollfd p = { .fd = -1, .events = POLLIN };
	char text[PID_TEXT + 1] = "";
	pid_t pid = 0;

	if (pread(t.file, text, PID_TEXT, 0) == PID_TEXT)
		pid = atoi(text);
	if (pid > 0 && pid != getpid())
		p.fd = pidfd_open(pid, 0);
	if (p.fd >= 0 && poll(&p, 1, 0) == 1) { /* it has ended */
		close(p.fd);
		p.fd = -1;
	}
	return p.fd;
}

static void agent_turn_drain(void)
{
	char events[1024];

	while (read(t.events, events, sizeof(events)) > 0)
		;
}

static bool agent_turn_lock(short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET };

	return !fcntl(t.file, F_SETLK, &lock);
}

static int agent_turn_watch(const char *path)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	if (fd >= 0 &&
	    inotify_add_watch(fd, path, IN_MODIFY | IN_CLOSE_WRITE) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int agent_turn_begin(const char *rundir, const char *node)
{
	char path[PATH_MAX];
	int err = local_make_dir(rundir, node);

	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/%s/watch",
		 rundir ? rundir : STORM_RUNDIR, node);
	t.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (t.file < 0)
		return errno;
	t.events = agent_turn_watch(path);
	agent_turn_sign();
	return 0;
}

void agent_turn_end(void)
{
	if (t.file >= 0)
		close(t.file);
	if (t.events >= 0)
		close(t.events);
	t.file = t.events = -1;
}

bool agent_turn_wait(int wake)
{
	for (;;) {
		struct pollfd p[3] = {
			{ .fd = wake, .events = POLLIN },
			{ .fd = t.events, .events = POLLIN },
			{ .fd = agent_turn_other(), .events = POLLIN },
		};
		bool mine = p[2].fd < 0 && agent_turn_lock(F_WRLCK);

		poll(p, 3, mine ? 0 : t.events < 0 ? LOOK : -1);
		if (p[2].fd >= 0)
			close(p[2].fd);
		if (p[0].revents)
			return false;
		if (mine) {
			agent_turn_sign(); /* the one that asked has ended */
			return true;
		}
		agent_turn_drain();
	}
}

int agent_turn_fd(void)
{
	return t.events;
}

bool agent_turn_keep(void)
{
	int other;

	agent_turn_drain();
	other = agent_turn_other();
	if (other >= 0)
		close(other);
	return other < 0;
}

void agent_turn_give(void)
{
	agent_turn_lock(F_UNLCK);
	/* an event for the one that waits */
	if (pwrite(t.file, "\n", 1, PID_TEXT) != 1)
		return;
}
