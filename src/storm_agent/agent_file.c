/*
 * agent_file.c - the Node Manager's file operations (paper Algorithm 7,
 * receiving side).  The session's child does everything that touches a file, so
 * that the agent never waits for a file system.  The bytes go through memory that
 * both share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "agent.h"
#include "agent_child.h"
#include "agent_file.h"
#include "agent_libdir.h"
#include "agent_session.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/log_limit.h"
#include "src/libstorm/base/shown.h"
#include "src/libstorm/base/step_name.h"
#include "src/storm_agent/files/file_child.h"
#include "src/storm_agent/files/file_pool.h"
#include "src/storm_common/step_protocol.h"

#define POOLS_MAX (24u << 20)	   /* of all pools, beside their first step */
#define POOLS_USER_MAX (18u << 20) /* of all pools of one user */

struct agent_file {
	struct agent_file *next;
	struct agent_session *s; /* NULL: the session is over */
	uint64_t op;
	uint32_t waiting; /* for this enum file_verb, or 0 */
	struct file_pool pool;
	uint32_t held; /* the last pieces, which the child is not asked to
			  write yet */
	uint64_t held_below;
	char *path; /* the final name, or in the libdir */
	bool libdir;
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

/* ----------------------------------------------------------- shared memory --- */

static size_t agent_file_pool_extra(const struct agent_file *f)
{
	return f->pool.base ? f->pool.limit - FILE_POOL_STEP : 0;
}

/* More of the pool, within the limits of all and of one user. */
static bool agent_file_pool_grow(struct agent_file *f)
{
	size_t all = 0, user = 0;

	if (!f->s || !f->pool.base)
		return false;
	for (const struct agent_session *s = f->s->a->sessions; s;
	     s = s->next) {
		for (const struct agent_file *o = s->files; o; o = o->next) {
			all += agent_file_pool_extra(o);
			if (s->step.uid == f->s->step.uid)
				user += agent_file_pool_extra(o);
		}
	}
	return all + FILE_POOL_STEP <= POOLS_MAX &&
	       user + FILE_POOL_STEP <= POOLS_USER_MAX &&
	       file_pool_grow(&f->pool);
}

static void agent_file_pool_drop(struct agent_file *f)
{
	file_pool_destroy(&f->pool);
	f->pool.count = 0;
	f->held = 0;
}

/* --------------------------------------------------------------- the child --- */

/* All that the child was asked fails. */
static void agent_file_fail_all(struct agent_session *s, int err, int sys)
{
	for (struct agent_file *f = s->files; f; f = f->next) {
		if (f->waiting)
			agent_file_answer(f, err, sys);
		else
			agent_answer_add(&s->a->answers, ANSWER_WRITTEN, s->id,
					 f->op, err, sys);
		agent_file_pool_drop(f);
	}
}

static void agent_file_child_gone(struct agent_session *s)
{
	const struct storm_log_source from = storm_log_uid(s->step.uid);
	char step[STORM_STEP_NAME];

	storm_log_from(&from, STORM_LOG_ERROR,
		       "the process that writes files of uid %u, %s, died",
		       s->step.uid,
		       storm_step_name(&step, s->step.job_id, s->step.step_id));
	agent_file_fail_all(s, STORM_ESYS, ECHILD);
}

static void agent_file_failed(const struct agent_file *f,
			      const struct file_reply *rep)
{
	const struct storm_log_source from = storm_log_uid(f->s->step.uid);

	storm_log_from(&from, STORM_LOG_INFO, "file %s of uid %u: %s%s%s",
		       STORM_SHOWN(f->path), f->s->creds->user.uid,
		       storm_strerror((int) rep->err), rep->sys ? ": " : "",
		       rep->sys ? strerror(rep->sys) : "");
}

/* What was read back; the room is free after that. */
static void agent_file_was_read(struct agent_file *f,
				const struct file_reply *rep)
{
	const struct file_piece *p = file_pool_oldest(&f->pool);

	if (!p || p->verb != FILE_READ)
		return;
	storm_nm_read(f->s->a->nm, f->s->id, f->op, p->off,
		      rep->err ? NULL : f->pool.base + p->at, p->len);
	file_pool_release(&f->pool);
}

/* So many of the oldest pieces are written.  They are in one row, or not; the
 * Node Manager may end the file only later. */
static void agent_file_written(struct agent_file *f,
			       const struct file_reply *rep)
{
	struct agent *a = f->s->a;

	if (rep->err) {
		a->count.files_failed++;
		agent_file_failed(f, rep);
	}
	for (uint32_t n = rep->writes; n; n--) {
		const struct file_piece *p = file_pool_oldest(&f->pool);
		struct file_piece done;

		/* it cannot have written what it was not asked for yet */
		if (!p || p->verb != FILE_WRITE || f->pool.count <= f->held)
			return;
		done = *p;
		file_pool_release(&f->pool);
		a->count.bytes += rep->err ? 0 : done.len;
		storm_nm_written(a->nm, f->s->id, f->op, done.off, done.len,
				 (int) rep->err, rep->sys, storm_now());
	}
}

static void agent_file_reply(struct agent_session *s,
			     const struct file_reply *rep)
{
	struct agent_file *f;

	for (f = s->files; f && f->op != rep->op; f = f->next)
		;
	if (f && rep->verb == FILE_WRITE)
		agent_file_written(f, rep);
	else if (f && rep->verb == FILE_READ)
		agent_file_was_read(f, rep);
	if (!f || f->waiting != rep->verb)
		return; /* the file ended before the answer came */
	if (rep->verb == FILE_COMMIT && !rep->err && f->libdir) {
		char *dir = xstrdup_printf("%s_libs", f->path);

		agent_libdir_add(s->a, s->creds, dir);
		xfree(dir);
	}
	if (rep->err)
		agent_file_failed(f, rep);
	agent_file_answer(f, (int) rep->err, rep->sys);
}

static const struct agent_child_ops agent_file_child_ops = {
	.reply = agent_file_reply,
	.gone = agent_file_child_gone,
};

/* Send a request to the child.  If that fails, queue the error at once. */
static void agent_file_ask(struct agent_file *f, struct file_request *req,
			   int fd)
{
	f->waiting = req->verb;
	req->op = f->op;
	if (agent_child_ask(f->s, req, fd, true))
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
	f->pool.fd = -1;
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
	if (agent_child_start(s, &agent_file_child_ops) ||
	    file_pool_create(&f->pool)) {
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
	agent_child_busy(s, f->libdir);
	agent_file_ask(f, &req, f->pool.fd);
}

bool agent_file_waits(void *host, void *file)
{
	const struct agent_file *f = file;

	(void) host;
	return f->s && agent_child_waits(f->s, storm_now());
}

/* A large piece is cheaper than many small ones, where there is memory. */
uint8_t *agent_file_room(void *host, void *file, size_t *size)
{
	struct agent_file *f = file;
	uint8_t *at;

	(void) host;
	do {
		at = file_pool_room(&f->pool, size);
	} while ((!at || *size < FILE_POOL_ROOM) && agent_file_pool_grow(f));
	return at;
}

/* Hand n pieces of the pool to the child, which are the last. */
static bool agent_file_move(struct agent_file *f, enum file_verb verb,
			    uint32_t n, uint64_t below)
{
	static struct file_request req;

	req.verb = verb;
	req.op = f->op;
	req.below = below;
	req.spans = n;
	for (uint32_t i = 0; i < n; i++) {
		const struct file_piece *p =
			file_pool_last(&f->pool, n - 1 - i);

		req.span[i] = (struct file_span) { p->at, p->len, p->off };
	}
	req.path[n * sizeof(req.span[0])] = '\0'; /* the end, as of a path */
	if (f->s && !agent_child_ask(f->s, &req, -1, true))
		return true;
	/* the child died, or does not read: nothing of it is written */
	if (f->s)
		agent_answer_add(&f->s->a->answers, ANSWER_WRITTEN, f->s->id,
				 f->op, STORM_ESYS, errno);
	agent_file_pool_drop(f);
	return false;
}

/* Where datagrams are lost pieces are small: each request wakes the child. */
static void agent_file_flush(struct agent_file *f)
{
	uint32_t n = f->held;

	f->held = 0;
	if (n && f->pool.base)
		agent_file_move(f, FILE_WRITE, n, f->held_below);
}

void agent_file_write(void *host, void *file, uint64_t off, size_t len,
		      uint64_t below)
{
	struct agent_file *f = file;

	(void) host;
	file_pool_take(&f->pool, FILE_WRITE, off, len);
	f->held_below = below;
	if (++f->held == FILE_SPANS || len >= FILE_POOL_STEP)
		agent_file_flush(f);
}

bool agent_file_read(void *host, void *file, uint64_t off, size_t len)
{
	struct agent_file *f = file;
	size_t size;

	agent_file_flush(f);
	if (!agent_file_room(host, f, &size) || size < len)
		return false;
	file_pool_take(&f->pool, FILE_READ, off, len);
	return agent_file_move(f, FILE_READ, 1, 0);
}

static void agent_file_request(struct agent_file *f, enum file_verb verb,
			       const uint8_t *digest)
{
	static struct file_request req;

	agent_file_flush(f);
	memset(&req, 0, sizeof(req));
	req.verb = verb;
	if (digest) {
		req.digested = true;
		memcpy(req.digest, digest, sizeof(req.digest));
	}
	agent_file_ask(f, &req, -1);
}

void agent_file_stage(void *host, void *file, uint64_t session, uint64_t op,
		      const uint8_t *digest)
{
	(void) host;
	(void) session;
	(void) op;
	agent_file_request(file, FILE_STAGE, digest);
}

void agent_file_commit(void *host, void *file, uint64_t session, uint64_t op)
{
	(void) host;
	(void) session;
	(void) op;
	agent_file_request(file, FILE_COMMIT, NULL);
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
			if (agent_child_ask(f->s, &req, -1, false))
				agent_child_close(f->s);
		}
		if (!f->s->files)
			agent_child_rest(f->s);
	}
	agent_file_pool_drop(f);
	xfree(f->path);
	xfree(f);
}

void agent_file_session_close(struct agent_session *s)
{
	for (struct agent_file *f = s->files; f; f = f->next)
		f->s = NULL;
	s->files = NULL;
	agent_child_close(s);
}

/* ------------------------------------------------------- a hung file system --- */

static void agent_file_hangs(struct agent_session *s)
{
	const struct storm_log_source from = storm_log_uid(s->step.uid);

	for (const struct agent_file *f = s->files; f; f = f->next)
		storm_log_from(
			&from, STORM_LOG_ERROR,
			"file %s of uid %u: the file system does not answer, its transfer ends",
			STORM_SHOWN(f->path), s->creds->user.uid);
	s->a->count.files_failed++;
	agent_file_fail_all(s, STORM_EHUNG, 0);
	agent_child_close(s);
}

uint64_t agent_file_tick(struct agent *a, uint64_t now)
{
	for (struct agent_session *s = a->sessions; s; s = s->next) {
		for (struct agent_file *f = s->files; f; f = f->next)
			agent_file_flush(f);
		if (agent_child_hangs(s, now))
			agent_file_hangs(s);
	}
	return agent_child_tick(a, now);
}
