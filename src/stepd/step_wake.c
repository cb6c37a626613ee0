/*
 * step_wake.c - see step_wake.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"

#include "src/libstorm/base/thread.h"
#include "step_wake.h"

#define MOST 32 /* s: a sleep that lasts so long is ended */

static pid_t sleeper; /* a thread */

static void step_wake_signal(int sig)
{
	(void) sig;
}

/* Does the thread sleep?  The kernel shows in which call it is, by its number, or
 * "running". */
static bool step_wake_sleeps(int fd)
{
	char text[128], *end;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	long call;

	if (n <= 0)
		return false;
	text[n] = '\0';
	call = strtol(text, &end, 10);
	if (end == text)
		return false;
#ifdef SYS_nanosleep
	if (call == SYS_nanosleep)
		return true;
#endif
	return call == SYS_clock_nanosleep;
}

static void *step_wake_thread(void *arg)
{
	const struct timespec second = { .tv_sec = 1 };
	int limit = 1, seen = 0, fd = *(int *) arg;

	pthread_setname_np(pthread_self(), "storm_wake");
	for (;;) {
		nanosleep(&second, NULL);
		seen = step_wake_sleeps(fd) ? seen + 1 : 0;
		if (seen < limit)
			continue;
		syscall(SYS_tgkill, getpid(), sleeper, SIGURG);
		seen = 0;
		if (limit < MOST)
			limit *= 2;
	}
	return NULL;
}

/* 0, or an errno. */
static int step_wake_begin(int *fd)
{
	/* Any handler ends a sleep.  With SA_RESTART other calls that begin after
	 * the look go on, if they can. */
	const struct sigaction wake = { .sa_handler = step_wake_signal,
					.sa_flags = SA_RESTART };
	char path[64];
	pthread_t thread;
	int err;

	sleeper = syscall(SYS_gettid);
	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", sleeper);
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0 || sigaction(SIGURG, &wake, NULL))
		return errno;
	err = storm_thread_start(&thread, step_wake_thread, fd);
	if (!err)
		pthread_detach(thread);
	return err;
}

void step_wake_start(void)
{
	static int fd; /* the thread's */
	int err = step_wake_begin(&fd);

	if (!err)
		return;
	debug("storm: slurmctld hears of the step's end a minute late if it is away now: %s",
	      strerror(err));
	if (fd >= 0)
		close(fd);
}
