/*
 * held_process.h - a process that SIGKILL does not end, for tests.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef HELD_PROCESS_H
#define HELD_PROCESS_H

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

/* A tracer that holds a process at its end: the process then is as one in state D,
 * which does not die by SIGKILL.  Returns the tracer, which lets it go when `go`
 * can be read; -1: the system allows no tracer. */
static inline pid_t held_process(pid_t pid, int *go)
{
	int pair[2], ready[2];
	pid_t tracer;
	char c;

	must(!pipe2(pair, O_CLOEXEC) && !pipe2(ready, O_CLOEXEC));
	tracer = fork();
	if (!tracer) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXIT))
			_exit(77);
		if (write(ready[1], "", 1) != 1 || read(pair[0], &c, 1) != 1)
			_exit(1);
		waitpid(pid, NULL, __WALL);
		ptrace(PTRACE_DETACH, pid, NULL, 0);
		_exit(0);
	}
	close(pair[0]);
	close(ready[1]);
	*go = pair[1];
	return read(ready[0], &c, 1) == 1 ? tracer : -1;
}

#endif
