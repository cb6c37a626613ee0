/*
 * child_watch.c - see child_watch.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2 */
#endif
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"

#include "child_watch.h"
#include "proc_state.h"

static void child_watch_shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int child_watch_open(struct child_watch *w)
{
	int log[2];

	w->pidfd = w->log_read = w->log_write = -1;
	w->pid = 0;
	if (pipe2(log, O_CLOEXEC | O_NONBLOCK))
		return -1;
	w->log_read = log[0];
	w->log_write = log[1];
	child_watch_at_once(w);
	return 0;
}

void child_watch_close(struct child_watch *w)
{
	child_watch_forget(w);
	child_watch_shut(&w->log_read);
	child_watch_shut(&w->log_write);
}

/* ---------------------------------------------------------- left behind --- */

/* It is no longer watched; w->pidfd goes along.  One that was adopted can be one too
 * many. */
static void child_left_add(struct child_watch *w)
{
	if (w->nleft == CHILD_LEFT_MAX) {
		child_watch_shut(&w->pidfd);
		return;
	}
	w->left[w->nleft++] = (struct child_left) { .pid = w->pid,
						    .pidfd = w->pidfd,
						    .child = w->child };
	w->pidfd = -1;
}

/*
 * False: there is nothing to wait for yet.  A debugger can keep a process that is
 * dead.  *status is -1 if another process is its parent.  One that was adopted can be
 * a child all the same: a slurmd that executes itself anew keeps its children.  The
 * pidfd never names another process.
 */
static bool child_reap(pid_t pid, int pidfd, int *status)
{
	siginfo_t si = { 0 };
	int err =
		pidfd >= 0 ?
			waitid(P_PIDFD, (id_t) pidfd, &si, WEXITED | WNOHANG) :
			waitid(P_PID, (id_t) pid, &si, WEXITED | WNOHANG);

	*status = -1;
	if (!err && !si.si_pid)
		return false;
	if (!err)
		*status = si.si_code == CLD_EXITED ? si.si_status :
						     128 + si.si_status;
	return true;
}

static bool child_left_has_ended(const struct child_left *l)
{
	struct pollfd p = { .fd = l->pidfd, .events = POLLIN };
	int status;

	if (!l->child && poll(&p, 1, 0) != 1)
		return false;
	return child_reap(l->pid, l->pidfd, &status);
}

void child_watch_bury(struct child_watch *w)
{
	for (unsigned int i = 0; i < w->nleft; i++) {
		struct child_left *l = &w->left[i];

		if (!child_left_has_ended(l))
			continue;
		if (l->pidfd >= 0)
			info("%s %d), which was left behind, has ended",
			     w->name, l->pid);
		child_watch_shut(&l->pidfd);
		w->left[i--] = w->left[--w->nleft];
	}
}

/* ---------------------------------------------------------------- start --- */

static void child_watch_wait(struct child_watch *w, bool refused, bool well)
{
	w->start_at = storm_now() +
		      child_backoff(&w->backoff, refused, well) * STORM_MS;
}

bool child_watch_due(const struct child_watch *w, uint64_t now)
{
	return !w->pid && now >= w->start_at && w->nleft < CHILD_LEFT_MAX;
}

int child_watch_began(struct child_watch *w, pid_t pid, bool child)
{
	int err;

	w->pid = pid;
	w->child = child;
	w->started = w->heard = w->looked = storm_now();
	if (child)
		child_log_start(&w->log);
	w->pidfd = pidfd_open(pid, 0);
	if (w->pidfd >= 0)
		return 0;
	err = errno;
	if (child) {
		error("%s %d): pidfd_open: %s: killing it", w->name, pid,
		      strerror(err));
		/* nobody has waited for it: the pid is still its */
		kill(pid, SIGKILL);
		child_left_add(w);
		child_watch_wait(w, false, false);
	}
	w->pid = 0;
	return err;
}

void child_watch_failed(struct child_watch *w)
{
	child_watch_wait(w, false, false);
}

void child_watch_at_once(struct child_watch *w)
{
	w->backoff.next = CHILD_BACKOFF_MIN;
	w->start_at = 0;
}

/* ----------------------------------------------------------------- life --- */

void child_watch_serves(struct child_watch *w)
{
	child_log_serves(&w->log);
}

void child_watch_heard(struct child_watch *w, uint64_t now)
{
	w->heard = now;
}

bool child_watch_hangs(struct child_watch *w, uint64_t now)
{
	/* then its answer waits, or it was not asked */
	if (now > w->looked + CHILD_LATE)
		w->heard = now;
	w->looked = now;
	if (!w->patience || now < w->heard + w->patience)
		return false;
	error("%s %d) has not answered for %d s: replacing it", w->name, w->pid,
	      (int) (w->patience / STORM_SEC));
	return true;
}

void child_watch_drain(struct child_watch *w)
{
	child_log_drain(&w->log, w->log_read, w->program);
}

/* ------------------------------------------------------------------ end --- */

bool child_watch_is_dead(const struct child_watch *w, int ms)
{
	struct pollfd p = { .fd = w->pidfd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

void child_watch_forget(struct child_watch *w)
{
	child_watch_shut(&w->pidfd);
	w->pid = 0;
}

bool child_watch_was_left(const struct child_watch *w)
{
	return w->pid && w->pidfd < 0;
}

static void child_watch_leave(struct child_watch *w)
{
	char state = proc_letter(w->pid);

	if (state == 'Z')
		error("%s %d) is dead, and a debugger keeps it: it is left behind",
		      w->name, w->pid);
	else
		error("%s %d) does not die by SIGKILL: it hangs in the kernel, in state %c; it is left behind",
		      w->name, w->pid, state);
	child_left_add(w);
}

int child_watch_end(struct child_watch *w, int signal, int ms)
{
	bool well = storm_now() > w->started + CHILD_LIVED_WELL, dead;
	int status = -1;

	if (signal)
		pidfd_send_signal(w->pidfd, signal, NULL, 0);
	dead = child_watch_is_dead(w, ms);
	if (!dead) {
		pidfd_send_signal(w->pidfd, SIGKILL, NULL, 0);
		dead = child_watch_is_dead(w, CHILD_KILL_LIMIT);
	}
	if (!dead || !child_reap(w->pid, w->pidfd, &status))
		child_watch_leave(w);
	child_watch_drain(w);
	w->log.len = 0; /* a line that it began */
	child_watch_wait(w, status == CHILD_EXIT_CONF, well);
	return status;
}

void child_watch_tell(struct child_watch *w, int status)
{
	/* why it could not start it has said itself */
	bool told = status == CHILD_EXIT_FAILED && w->log.now.count;
	char kind[16];

	snprintf(kind, sizeof(kind), "%d", status);
	if (status >= 128)
		error("%s %d) was killed by signal %d", w->name, w->pid,
		      status - 128);
	else if (status < 0)
		return;
	else if (child_log_again(&w->log, kind) || told)
		verbose("%s %d) ended with status %d", w->name, w->pid, status);
	else
		error("%s %d) ended with status %d", w->name, w->pid, status);
}
