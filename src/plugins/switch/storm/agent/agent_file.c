/*
 * agent_file.c - the Node Manager's file operations (paper Algorithm 7,
 * receiving side).  The session's child does everything that names a path.
 * This file writes and reads through the descriptor that the child passes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "agent.h"
#include "agent_file.h"
#include "agent_libdir.h"
#include "agent_session.h"
#include "file_child.h"
#include "src/storm_common/step_protocol.h"
#include "src/libstorm/program/staged.h"

struct agent_file {
	struct agent_file *next;
	struct agent_session *s; /* NULL: the session is over */
	uint64_t op;
	int fd;
	uint32_t waiting; /* for this enum file_verb, or 0 */
	char *path;	  /* the final name, or in the libdir */
	bool libdir;
};

struct agent_child {
	struct agent_io io;
	struct agent_session *s;
};

static enum agent_answer_kind agent_file_answer_kind(uint32_t verb)
{
	switch (verb) {
	case FILE_BEGIN:
		return ANSWER_BEGUN;
	case FILE_STAGE:
		return ANSWER_STAGED;
	default:
		return ANSWER_APPLIED;
	}
}

static void agent_file_answer(struct agent_file *f, int err, int sys)
{
	struct agent *a = f->s->a;

	if (err)
		a->count.files_failed++;
	else if (f->waiting == FILE_COMMIT)
		a->count.files++;
	agent_answer_add(&a->answers, agent_file_answer_kind(f->waiting),
			 f->s->id, f->op, err, sys);
	f->waiting = 0;
}

static void agent_file_child_release(struct agent_io *io)
{
	xfree(io);
}

static void agent_file_child_close(struct agent_session *s)
{
	struct agent *a = s->a;

	if (!s->child)
		return;
	s->child->s = NULL;
	agent_io_close(&a->ios, &s->child->io);
	s->child = NULL;
}

static void agent_file_child_gone(struct agent_session *s)
{
	error("the process that writes files of uid %u, step %u.%u, died",
	      s->step.uid, s->step.job_id, s->step.step_id);
	agent_file_child_close(s);
	for (struct agent_file *f = s->files; f; f = f->next) {
		if (f->waiting)
			agent_file_answer(f, STORM_ESYS, ECHILD);
	}
}

static void agent_file_reply(struct agent_session *s,
			     const struct file_reply *rep, int fd)
{
	struct agent_file *f;

	for (f = s->files; f && f->op != rep->op; f = f->next)
		;
	if (!f || f->waiting != rep->verb) {
		/* the file ended before the answer came */
		if (fd >= 0)
			close(fd);
		return;
	}
	if (rep->verb == FILE_BEGIN)
		f->fd = fd;
	else if (fd >= 0)
		close(fd);
	if (rep->verb == FILE_COMMIT && !rep->err && f->libdir) {
		char *dir = xstrdup_printf("%s_libs", f->path);

		agent_libdir_add(s->a, s->creds, dir);
		xfree(dir);
	}
	if (rep->err)
		info("file %s of uid %u: %s%s%s", f->path, s->creds->user.uid,
		     storm_strerror(rep->err), rep->sys ? ": " : "",
		     rep->sys ? strerror(rep->sys) : "");
	agent_file_answer(f, rep->err, rep->sys);
}

static void agent_file_child_ready(struct agent *a, struct agent_io *io,
				   uint32_t events)
{
	struct agent_child *c = (struct agent_child *) io;
	struct file_reply rep;
	int fd, rc;

	(void) a;
	(void) events;
	while (c->s && (rc = file_child_recv(io->fd, &rep, &fd)) != -1) {
		if (!rc)
			agent_file_child_gone(c->s);
		else
			agent_file_reply(c->s, &rep, fd);
	}
}

static int agent_file_child_start(struct agent_session *s)
{
	struct agent_child *c;
	int fd;

	if (s->child)
		return 0;
	fd = file_child_start(s->a->file.nursery, &s->creds->user);
	if (fd < 0)
		return -1;
	c = xmalloc(sizeof(*c));
	c->io.fd = fd;
	c->io.ready = agent_file_child_ready;
	c->io.release = agent_file_child_release;
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

/* Send a request to the child.  If that fails, queue the error at once. */
static void agent_file_ask(struct agent_file *f, struct file_request *req)
{
	f->waiting = req->verb;
	req->op = f->op;
	if (!f->s->child)
		agent_file_answer(f, STORM_ESYS, ECHILD);
	else if (file_child_send(f->s->child->io.fd, req))
		agent_file_answer(f, STORM_ESYS, errno);
}

/* srun gave a directory: append Slurm's name for the executable. */
static char *agent_file_full_path(const struct agent_session *s,
				  const char *path, uint32_t flags)
{
	char *full = xstrdup(path);
	size_t len = strlen(path);

	if (!(flags & STORM_FILE_IN_LIBDIR) && len && path[len - 1] == '/')
		xstrfmtcat(full, STEP_BCAST_NAME_FMT, s->creds->job_id,
			   s->creds->step_id, s->a->node);
	return full;
}

void agent_file_begin(void *host, void *ctx, uint64_t session, uint64_t op,
		      const struct storm_target *to, uint64_t size, void **file)
{
	static struct file_request req; /* large; one thread */
	struct agent_session *s = ctx;
	struct agent_file *f = xmalloc(sizeof(*f));

	(void) host;
	(void) session;
	f->s = s;
	f->op = op;
	f->fd = -1;
	f->waiting = FILE_BEGIN;
	f->next = s->files;
	s->files = f;
	*file = f;
	if (!s->creds) {
		agent_file_answer(f, STORM_EACCES, 0);
		return;
	}
	f->path = agent_file_full_path(s, to->path, to->flags);
	f->libdir = to->flags & STORM_FILE_LIBDIR;
	if (strlen(f->path) >= sizeof(req.path)) {
		agent_file_answer(f, STORM_EPATH, ENAMETOOLONG);
		return;
	}
	if (agent_file_child_start(s)) {
		agent_file_answer(f, STORM_ESYS, errno);
		return;
	}
	memset(&req, 0, sizeof(req));
	req.verb = FILE_BEGIN;
	req.flags = to->flags;
	req.size = size;
	req.mode = to->mode;
	req.atime = to->atime;
	req.mtime = to->mtime;
	strcpy(req.path, f->path);
	agent_file_ask(f, &req);
}

int agent_file_write(void *host, void *file, uint64_t off, const void *buf,
		     size_t len)
{
	struct agent *a = host;
	struct agent_file *f = file;
	int sys = storm_staged_write(f->fd, off, buf, len);

	if (sys)
		a->count.files_failed++;
	else
		a->count.bytes += len;
	return sys;
}

int agent_file_read(void *host, void *file, uint64_t off, void *buf, size_t len)
{
	struct agent_file *f = file;

	(void) host;
	return storm_staged_read(f->fd, off, buf, len);
}

static void agent_file_request(struct agent_file *f, enum file_verb verb)
{
	static struct file_request req;

	memset(&req, 0, sizeof(req));
	req.verb = verb;
	agent_file_ask(f, &req);
}

void agent_file_stage(void *host, void *file, uint64_t session, uint64_t op)
{
	(void) host;
	(void) session;
	(void) op;
	agent_file_request(file, FILE_STAGE);
}

void agent_file_commit(void *host, void *file, uint64_t session, uint64_t op)
{
	(void) host;
	(void) session;
	(void) op;
	agent_file_request(file, FILE_COMMIT);
}

void agent_file_end(void *host, void *file)
{
	static struct file_request req;
	struct agent_file *f = file, **p;

	(void) host;
	if (!f)
		return;
	if (f->s) {
		for (p = &f->s->files; *p != f; p = &(*p)->next)
			;
		*p = f->next;
		if (f->s->child) {
			memset(&req, 0, sizeof(req));
			req.verb = FILE_ABORT;
			req.op = f->op;
			/* if not sent, the child cleans up at its end */
			if (file_child_send(f->s->child->io.fd, &req))
				agent_file_child_gone(f->s);
		}
	}
	if (f->fd >= 0)
		close(f->fd);
	xfree(f->path);
	xfree(f);
}

void agent_file_session_close(struct agent_session *s)
{
	for (struct agent_file *f = s->files; f; f = f->next)
		f->s = NULL;
	s->files = NULL;
	agent_file_child_close(s);
}
