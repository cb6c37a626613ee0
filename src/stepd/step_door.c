/*
 * step_door.c - see step_door.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/libstorm/base/minmax.h"
#include "step_door.h"

/* What a task is called in /proc from the door to exec.  proctrack/linuxproc sends
 * no signal to a process that is called as slurmstepd, and the task may stand for
 * long. */
#define STEP_DOOR_NAME "storm-waits"

static struct {
	int fd;			 /* the tasks' end; -1: no door */
	_Atomic uint32_t *tasks; /* that are not here yet: common to all */
} door = { .fd = -1 };

int step_door_make(const char *rundir, const char *node,
		   const struct step_owner *o, uint32_t tasks)
{
	int end[2], err;

	door.tasks = mmap(NULL, sizeof(*door.tasks), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (door.tasks == MAP_FAILED)
		return errno;
	*door.tasks = tasks;
	err = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) ? errno :
									0;
	if (!err) {
		err = step_give(rundir, node, LOCAL_DOOR, o, end[1]);
		close(end[1]);
		door.fd = end[0];
	}
	if (err)
		step_door_leave();
	return err;
}

/* The agent shuts its end, or is gone; or another task, whose time is over. */
static void step_door_await(void)
{
	const uint64_t end = storm_now() + STEP_DOOR_LIMIT;
	struct pollfd p = { .fd = door.fd };
	uint64_t now;

	while (!(p.revents & POLLHUP) && (now = storm_now()) < end)
		if (poll(&p, 1, (int) ((end - now) / STORM_MS + 1)) < 0 &&
		    errno != EINTR)
			return;
}

void step_door_wait(void)
{
	if (door.fd < 0)
		return;
	prctl(PR_SET_NAME, STEP_DOOR_NAME);
	if (!--*door.tasks)
		send(door.fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	step_door_await();
	step_door_open();
}

void step_door_open(void)
{
	if (door.fd >= 0)
		shutdown(door.fd, SHUT_RDWR);
}

void step_door_leave(void)
{
	if (door.fd >= 0)
		close(door.fd);
	door.fd = -1;
	if (door.tasks && door.tasks != MAP_FAILED)
		munmap(door.tasks, sizeof(*door.tasks));
	door.tasks = NULL;
}
