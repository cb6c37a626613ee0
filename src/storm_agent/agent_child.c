/*
 * agent_child.c - see agent_child.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"

#include "agent.h"
#include "agent_child.h"
#include "agent_session.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/log_limit.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_agent/files/file_child.h"

#define PATIENCE (10 * STORM_SEC) /* for an answer of the file system */
#define LEAVE_TIME \
	(10 * STORM_SEC)      /* to clean up and end, before it is killed */
#define DIE_TIME STORM_SEC    /* a killed process has gone by then */
#define LEFT_MAX 8	      /* of a user's that do not end */
#define IDLE (200 * STORM_MS) /* without files, and then it ends */
#define IDLE_LIBDIR (30 * STORM_SEC) /* libraries may follow */

/* A process, until it is dead. */
struct agent_proc {
	struct agent_io io; /* its pidfd */
	struct agent_proc *next;
	pid_t pid;
	uint32_t uid;
	uint64_t left_at; /* the session let it go; 0: it did not yet */
	uint64_t killed_at;
	bool named;
};

struct agent_child {
	struct agent_io io;
	struct agent_session *s; /* NULL: closed */
	const struct agent_child_ops *ops;
	struct agent_proc *proc; /* NULL: not known yet, or dead */
	uint32_t waiting;	 /* requests without an answer */
	uint64_t since;		 /* it has not answered */
	bool started;		 /* false: the nursery has not begun it */
	bool waits;		 /* it has not, because there are too many */
	bool libdir;		 /* it keeps the directory */
	uint64_t idle_at;	 /* ends then, or 0 */
};

/* -------------------------------------------------------------- processes --- */

static void agent_proc_release(struct agent_io *io)
{
	xfree(io);
}

static void agent_proc_dead(struct agent *a, struct agent_io *io,
			    uint32_t events)
{
	struct agent_proc *p = (struct agent_proc *) io, **q;
	const struct storm_log_source from = storm_log_uid(p->uid);

	(void) events;
	for (q = &a->file.procs; *q != p; q = &(*q)->next)
		;
	*q = p->next;
	for (struct agent_session *s = a->sessions; s; s = s->next) {
		if (s->child && s->child->proc == p)
			s->child->proc = NULL;
	}
	if (p->named)
		storm_log_from(&from, STORM_LOG_INFO,
			       "storm_file process %d of uid %u has ended",
			       p->pid, p->uid);
	agent_io_close(&a->ios, io);
}

/* Watch the process.  It takes the pidfd. */
static struct agent_proc *agent_proc_watch(struct agent *a, pid_t pid,
					   uint32_t uid, int pidfd)
{
	struct agent_proc *p = xmalloc(sizeof(*p));

	p->io.fd = pidfd;
	p->io.ready = agent_proc_dead;
	p->io.release = agent_proc_release;
	p->pid = pid;
	p->uid = uid;
	if (agent_io_add(&a->ios, &p->io, EPOLLIN)) {
		close(pidfd);
		xfree(p);
		return NULL;
	}
	p->next = a->file.procs;
	a->file.procs = p;
	return p;
}

static uint64_t agent_proc_tick(struct agent_proc *p, uint64_t now)
{
	const struct storm_log_source from = storm_log_uid(p->uid);
	uint64_t due = p->left_at + LEAVE_TIME;

	if (!p->left_at || p->named)
		return STORM_NEVER;
	if (!p->killed_at) {
		if (now < due)
			return due;
		syscall(SYS_pidfd_send_signal, p->io.fd, SIGKILL, NULL, 0);
		p->killed_at = now;
	}
	due = p->killed_at + DIE_TIME;
	if (now < due)
		return due;
	storm_log_from(
		&from, STORM_LOG_ERROR,
		"storm_file process %d of uid %u does not die: a file system does not answer; it is left behind",
		p->pid, p->uid);
	p->named = true;
	return STORM_NEVER;
}

static int agent_proc_left(const struct agent *a, uint32_t uid, uint64_t now)
{
	int n = 0;

	for (const struct agent_proc *p = a->file.procs; p; p = p->next)
		n += p->uid == uid && p->left_at &&
		     now >= p->left_at + DIE_TIME;
	return n;
}

/* -------------------------------------------------------------- the child --- */

static void agent_child_release(struct agent_io *io)
{
	xfree(io);
}

/* 1: a reply.  0: it has ended.  -1: nothing more now. */
static int agent_child_recv(struct agent_child *c, struct file_reply *rep)
{
	struct agent *a = c->s->a;
	int fd, rc;

	while ((rc = file_child_recv(c->io.fd, rep, &fd)) == 1) {
		c->waits = rep->verb == FILE_WAITS;
		if (c->waits)
			continue;
		if (rep->verb != FILE_STARTED) {
			if (fd >= 0)
				close(fd);
			return 1;
		}
		c->started = true;
		c->since = storm_now();
		if (fd >= 0)
			c->proc = agent_proc_watch(a, (pid_t) rep->op,
						   c->s->creds->user.uid, fd);
	}
	return rc;
}

void agent_child_close(struct agent_session *s)
{
	struct agent_child *c = s->child;
	struct agent *a = s->a;
	struct file_reply rep;

	if (!c)
		return;
	while (!c->proc && agent_child_recv(c, &rep) == 1)
		; /* for its pidfd */
	if (c->proc)
		c->proc->left_at = storm_now();
	c->s = NULL;
	agent_io_close(&a->ios, &c->io);
	s->child = NULL;
}

static void agent_child_ready(struct agent *a, struct agent_io *io,
			      uint32_t events)
{
	struct agent_child *c = (struct agent_child *) io;
	struct file_reply rep;
	uint32_t n;
	int rc;

	(void) a;
	(void) events;
	while (c->s && (rc = agent_child_recv(c, &rep)) != -1) {
		struct agent_session *s = c->s;

		if (!rc) {
			c->ops->gone(s);
			agent_child_close(s);
			return;
		}
		c->since = storm_now();
		if (rep.verb == FILE_ALIVE)
			continue;
		n = rep.verb == FILE_WRITE ? rep.writes : 1;
		c->waiting -= n < c->waiting ? n : c->waiting;
		c->ops->reply(s, &rep);
	}
}

int agent_child_start(struct agent_session *s,
		      const struct agent_child_ops *ops)
{
	struct agent_child *c;
	int fd;

	if (s->child)
		return 0;
	if (agent_proc_left(s->a, s->creds->user.uid, storm_now()) >=
	    LEFT_MAX) {
		errno = EBUSY;
		return -1;
	}
	fd = file_child_start(s->a->file.nursery, &s->creds->user);
	if (fd < 0)
		return -1;
	c = xmalloc(sizeof(*c));
	c->io.fd = fd;
	c->io.ready = agent_child_ready;
	c->io.release = agent_child_release;
	c->ops = ops;
	c->s = s;
	if (agent_io_add(&s->a->ios, &c->io, EPOLLIN)) {
		int err = errno;

		close(fd);
		xfree(c);
		errno = err;
		return -1;
	}
	s->child = c;
	return 0;
}

int agent_child_ask(struct agent_session *s, const struct file_request *req,
		    int fd, bool answers)
{
	struct agent_child *c = s->child;

	if (!c) {
		errno = ECHILD;
		return -1;
	}
	if (file_child_send(c->io.fd, req, fd))
		return -1;
	if (answers && !c->waiting)
		c->since = storm_now();
	c->waiting += answers ? storm_max(1, req->spans) : 0;
	return 0;
}

void agent_child_busy(struct agent_session *s, bool libdir)
{
	if (!s->child)
		return;
	s->child->idle_at = 0;
	s->child->libdir |= libdir;
}

void agent_child_rest(struct agent_session *s)
{
	if (s->child)
		s->child->idle_at =
			storm_now() + (s->child->libdir ? IDLE_LIBDIR : IDLE);
}

bool agent_child_hangs(const struct agent_session *s, uint64_t now)
{
	const struct agent_child *c = s->child;

	return c && c->started && c->waiting && now >= c->since + PATIENCE;
}

/* Processes that do not die give their places to nobody. */
bool agent_child_waits(const struct agent_session *s, uint64_t now)
{
	const struct agent_child *c = s->child;

	return c && c->waits && s->a->file.procs &&
	       agent_proc_left(s->a, s->creds->user.uid, now) < LEFT_MAX;
}

static uint64_t agent_child_due(const struct agent_child *c)
{
	if (c->idle_at)
		return c->idle_at;
	return c->started && c->waiting ? c->since + PATIENCE : STORM_NEVER;
}

uint64_t agent_child_tick(struct agent *a, uint64_t now)
{
	uint64_t next = STORM_NEVER, due;

	for (struct agent_proc *p = a->file.procs; p; p = p->next) {
		due = agent_proc_tick(p, now);
		if (due < next)
			next = due;
	}
	for (struct agent_session *s = a->sessions; s; s = s->next) {
		due = s->child ? agent_child_due(s->child) : STORM_NEVER;
		if (s->child && s->child->idle_at && now >= due)
			agent_child_close(s);
		else if (due < next)
			next = due;
	}
	return next;
}
