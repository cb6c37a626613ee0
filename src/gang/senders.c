/*
 * senders.c - see senders.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "freezer_private.h"
#include "senders.h"
#include "src/libstorm/base/clock.h"

#define LIMIT (100 * STORM_MS) /* for all */
#define EACH (20 * STORM_MS)   /* for one, which may hang in a file system */
#define OVERFLOW_UID 65534     /* of all users who are not in a namespace */
#define SIGNALS 32	       /* read at a time */

/* The caller and the thread have it.  The last one frees it. */
struct senders {
	pid_t *pids;
	size_t n;
	bool root; /* the thread's */
	_Atomic bool stop, done;
	_Atomic bool left; /* by one of the two */
};

static void senders_leave(struct senders *s)
{
	if (!atomic_exchange(&s->left, true))
		return;
	free(s->pids);
	free(s);
}

/* In a user namespace of its own a process sees root of this one as the user that
 * has no number there, and has a root of its own. */
static uid_t senders_root(pid_t pid)
{
	struct stat ours, its;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	if (!stat("/proc/self/ns/user", &ours) && !stat(path, &its) &&
	    (ours.st_dev != its.st_dev || ours.st_ino != its.st_ino))
		return OVERFLOW_UID;
	return 0;
}

static bool senders_is_from(const siginfo_t *i, uid_t uid)
{
	return (i->si_code == SI_USER || i->si_code == SI_TKILL) &&
	       i->si_uid == uid;
}

/* In one of the queues of a process that stands for its tracer. */
static bool senders_look(struct senders *s, pid_t pid, uint32_t queue,
			 uint64_t waiting)
{
	const uid_t root = senders_root(pid);
	siginfo_t info[SIGNALS];
	struct __ptrace_peeksiginfo_args at = { .flags = queue, .nr = SIGNALS };
	long n;

	while (!s->stop &&
	       (n = ptrace(PTRACE_PEEKSIGINFO, pid, &at, info)) > 0) {
		for (long i = 0; i < n; i++)
			if (waiting & 1ull << (info[i].si_signo - 1) &&
			    senders_is_from(&info[i], root))
				return true;
		at.off += n;
	}
	return false;
}

/* Wait until it stands for the tracer; false: it does not, or has ended. */
static bool senders_stands(const struct senders *s, pid_t pid, uint64_t end)
{
	useconds_t nap = 20;
	int status;
	pid_t got;

	while (!(got = waitpid(pid, &status, __WALL | __WNOTHREAD | WNOHANG))) {
		if (s->stop || storm_now() > end)
			return false;
		usleep(nap);
		nap = nap < 1000 ? 2 * nap : nap;
	}
	return got == pid && WIFSTOPPED(status);
}

static bool senders_ask(struct senders *s, pid_t pid, uint64_t end)
{
	uint64_t waiting = freezer_proc_waiting(pid);
	bool root;

	if (!waiting)
		return false;
	/* Without the right to trace nobody can know: Slurm's must arrive. */
	if (ptrace(PTRACE_SEIZE, pid, 0, 0))
		return errno == EPERM;
	if (ptrace(PTRACE_INTERRUPT, pid, 0, 0) || !senders_stands(s, pid, end))
		return false;
	root = senders_look(s, pid, PTRACE_PEEKSIGINFO_SHARED, waiting) ||
	       senders_look(s, pid, 0, waiting);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	return root;
}

static void *senders_thread(void *arg)
{
	struct senders *s = arg;
	uint64_t now = storm_now(), end = now + LIMIT;

	for (size_t i = 0; i < s->n && !s->root && !s->stop && now < end;
	     i++, now = storm_now())
		s->root = senders_ask(s, s->pids[i],
				      now + EACH < end ? now + EACH : end);
	s->done = true;
	senders_leave(s);
	return NULL;
}

struct senders *senders_start(pid_t *pids, size_t n)
{
	struct senders *s = calloc(1, sizeof(*s));
	sigset_t all, before;
	pthread_t thread;
	int err;

	if (!s)
		return NULL;
	s->pids = pids;
	s->n = n;
	/* SIGCHLD, which is ignored: the kernel would keep a blocked one, and
	 * interrupt the caller's other threads with it. */
	sigfillset(&all);
	sigdelset(&all, SIGCHLD);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, NULL, senders_thread, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err) {
		pthread_detach(thread);
		return s;
	}
	free(s);
	errno = err;
	return NULL;
}

bool senders_done(const struct senders *s)
{
	return s->done;
}

bool senders_stop(struct senders *s)
{
	bool root;

	if (!s)
		return false;
	s->stop = true;
	root = s->done && s->root;
	senders_leave(s);
	return root;
}
