/*
 * file_child.c - see file_child.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* renameat2, fallocate, close_range */
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "file_child.h"
#include "file_nursery.h"
#include "file_pool.h"
#include "src/libstorm/program/staged.h"
#include "src/storm_common/caps.h"
#include "src/storm_common/local/fdpass.h"

/* open files of a child; a session runs one operation at a time, so one would
 * do */
#define FILES_MAX 64

#define REQUESTS_ROOM (2 << 20)
#define HELD_MAX 8	/* answers to writes */
#define ALIVE_EVERY 512 /* pieces that are read back */

/* What storm_file keeps if its user is root: what stock slurmd lets root do with
 * files.  All others lose everything with their uid. */
#define FILE_CHILD_CAPS (CAPS_BIT(CAP_DAC_OVERRIDE) | CAPS_BIT(CAP_FOWNER))

struct child_file {
	bool used;
	uint64_t op;
	uint8_t *pool;
	int err, sys;	/* of the first write that failed */
	uint64_t below; /* all bytes below were written */
	struct storm_staged f;
};

struct child {
	int sock;
	struct file_reply held; /* of so many writes */
	struct child_file files[FILES_MAX];
	struct storm_staging staging;
};

/* -------------------------------------------------------------- the child --- */

static void file_child_fail(struct file_reply *rep, int err, int sys)
{
	rep->err = (uint32_t) err;
	rep->sys = sys;
}

static void file_child_drop(struct child_file *f)
{
	storm_staged_drop(&f->f);
	file_pool_unmap(f->pool);
	f->used = false;
}

static struct child_file *file_child_find(struct child *c, uint64_t op)
{
	for (int i = 0; i < FILES_MAX; i++) {
		if (c->files[i].used && c->files[i].op == op)
			return &c->files[i];
	}
	return NULL;
}

static struct child_file *file_child_add(struct child *c, uint64_t op)
{
	for (int i = 0; i < FILES_MAX; i++) {
		struct child_file *f = &c->files[i];

		if (f->used)
			continue;
		memset(f, 0, sizeof(*f));
		f->used = true;
		f->op = op;
		return f;
	}
	return NULL;
}

static void file_child_begin(struct child *c, const struct file_request *req,
			     int pool, struct file_reply *rep)
{
	struct child_file *f =
		file_child_find(c, req->op) ? NULL : file_child_add(c, req->op);
	struct storm_target to = {
		.kind = STORM_TARGET_FILE,
		.path = req->path,
		.flags = req->flags,
		.mode = req->mode,
		.atime = req->atime,
		.mtime = req->mtime,
	};

	if (!f) {
		file_child_fail(rep, STORM_EINVAL, 0);
		return;
	}
	f->pool = pool < 0 ? NULL : file_pool_map(pool);
	if (!f->pool) {
		file_child_fail(rep, STORM_ESYS, pool < 0 ? EBADF : errno);
		f->used = false;
		return;
	}
	rep->err = storm_staged_begin(&f->f, &c->staging, &to, req->size,
				      &rep->sys);
	if (rep->err) {
		file_pool_unmap(f->pool);
		f->used = false;
	}
}

/* One piece.  What follows a failed write fails as it did: there is a hole in the
 * file. */
static void file_child_move(struct child_file *f, enum file_verb verb,
			    const struct file_span *p)
{
	int sys;

	if (f->err)
		return;
	sys = verb == FILE_WRITE ? storm_staged_write(f->f.fd, p->off,
						      f->pool + p->at, p->len) :
				   storm_staged_read(f->f.fd, p->off,
						     f->pool + p->at, p->len);
	if (sys) {
		f->err = STORM_ESYS;
		f->sys = sys;
	} else if (verb == FILE_WRITE) {
		storm_staged_wrote(&f->f, p->off, f->pool + p->at, p->len);
	}
}

static bool file_child_in_pool(const struct file_request *req)
{
	bool in = req->spans && req->spans <= FILE_SPANS;

	for (uint32_t i = 0; in && i < req->spans; i++)
		in = req->span[i].len <= FILE_POOL_SIZE &&
		     req->span[i].at <= FILE_POOL_SIZE - req->span[i].len;
	return in;
}

static void file_child_move_all(struct child *c, const struct file_request *req,
				struct file_reply *rep)
{
	struct child_file *f = file_child_find(c, req->op);

	rep->writes = req->spans;
	if (!f || !file_child_in_pool(req)) {
		file_child_fail(rep, STORM_EINVAL, 0);
		return;
	}
	for (uint32_t i = 0; i < req->spans; i++)
		file_child_move(f, req->verb, &req->span[i]);
	if (!f->err && req->verb == FILE_WRITE)
		f->below = req->below;
	file_child_fail(rep, f->err, f->sys);
}

/* Hash what came out of order.  False: it is done, or failed. */
static bool file_child_catch_up(struct child_file *f)
{
	return f->used && !f->err && storm_staged_catch_up(&f->f, f->below);
}

/* As long as nobody asks for anything. */
static void file_child_idle(struct child *c, int sock)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };

	for (int i = 0; i < FILES_MAX; i++) {
		struct child_file *f = &c->files[i];

		while (f->used && f->f.hashed < f->below && !poll(&p, 1, 0) &&
		       file_child_catch_up(f))
			;
	}
}

/* All was written: hash the rest, and say now and then that this goes on. */
static void file_child_hash(struct child_file *f, int sock)
{
	struct file_reply rep = { .verb = FILE_ALIVE, .op = f->op };

	f->below = f->f.size;
	for (uint32_t n = 1; file_child_catch_up(f); n++) {
		if (n % ALIVE_EVERY == 0)
			fdpass_send(sock, &rep, sizeof(rep), -1);
	}
}

static void file_child_stage(struct child *c, const struct file_request *req,
			     struct file_reply *rep)
{
	struct child_file *f = file_child_find(c, req->op);

	if (!f)
		file_child_fail(rep, STORM_ENOENT, 0);
	else if (f->err)
		file_child_fail(rep, f->err, f->sys);
	else
		rep->err = storm_staged_check(
			&f->f, req->digested ? req->digest : NULL, &rep->sys);
}

static void file_child_commit(struct child *c, const struct file_request *req,
			      struct file_reply *rep)
{
	struct child_file *f = file_child_find(c, req->op);

	if (!f) {
		file_child_fail(rep, STORM_ENOENT, 0);
		return;
	}
	rep->err = storm_staged_commit(&f->f, &rep->sys);
	rep->libdir = !rep->err && f->f.libdir[0];
}

/* Remove the files in the directory, then the directory.  It stays if it has
 * subdirectories, which STORM never makes. */
static void file_child_rmdir(const struct file_request *req,
			     struct file_reply *rep)
{
	char name[NAME_MAX + 1];
	struct dirent *d;
	int dir, fd;
	DIR *list;

	rep->err = storm_staged_open_dir(-1, req->path, &dir, &name, &rep->sys);
	if (rep->err)
		return;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		if (errno != ENOENT)
			file_child_fail(rep, storm_staged_error(errno), errno);
		if (fd >= 0)
			close(fd);
		close(dir);
		return;
	}
	while ((d = readdir(list)))
		unlinkat(fd, d->d_name, 0);
	closedir(list);
	if (unlinkat(dir, name, AT_REMOVEDIR) && errno != ENOENT)
		file_child_fail(rep, storm_staged_error(errno), errno);
	close(dir);
}

/* False: the request has no answer. */
static bool file_child_handle(struct child *c, const struct file_request *req,
			      int fd, struct file_reply *rep)
{
	struct child_file *f;

	switch (req->verb) {
	case FILE_BEGIN:
		file_child_begin(c, req, fd, rep);
		return true;
	case FILE_WRITE:
	case FILE_READ:
		file_child_move_all(c, req, rep);
		return true;
	case FILE_STAGE:
		f = file_child_find(c, req->op);
		if (f)
			file_child_hash(f, c->sock);
		file_child_stage(c, req, rep);
		return true;
	case FILE_COMMIT:
		file_child_commit(c, req, rep);
		return true;
	case FILE_ABORT:
		f = file_child_find(c, req->op);
		if (f)
			file_child_drop(f);
		return false;
	case FILE_RMDIR:
		file_child_rmdir(req, rep);
		return true;
	}
	file_child_fail(rep, STORM_EINVAL, 0);
	return true;
}

static int file_child_send_writes(const struct child *c,
				  const struct file_reply *rep, uint32_t writes)
{
	struct file_reply all = *rep;

	all.writes = writes;
	return fdpass_send(c->sock, &all, sizeof(all), -1);
}

/* The answers to writes wait as long as there are more requests: each one that
 * is sent wakes the agent.  rep is NULL if the request has none.  0, or -1 and
 * errno. */
static int file_child_answer(struct child *c, const struct file_reply *rep)
{
	struct pollfd p = { .fd = c->sock, .events = POLLIN };
	struct file_reply *held = &c->held;
	bool write = rep && rep->verb == FILE_WRITE && !rep->err;
	uint32_t writes = held->writes;

	held->writes = 0;
	if (writes && (!write || held->op != rep->op)) {
		if (file_child_send_writes(c, held, writes))
			return -1;
		writes = 0;
	}
	if (!write)
		return rep ? file_child_send_writes(c, rep, rep->writes) : 0;
	writes += rep->writes;
	if (writes >= HELD_MAX || poll(&p, 1, 0) < 1)
		return file_child_send_writes(c, rep, writes);
	*held = *rep;
	held->writes = writes;
	return 0;
}

static void file_child_serve(int sock)
{
	static struct file_request req; /* large */
	static struct child child;	/* one for each process */
	struct child *c = &child;
	ssize_t n;
	int fd;

	c->sock = sock;
	c->staging.root = c->staging.libdir = -1;
	while ((n = fdpass_recv(sock, &req, sizeof(req), &fd)) > 0) {
		struct file_reply rep = { 0 };
		bool answer;

		if (n <= (ssize_t) offsetof(struct file_request, path) ||
		    ((char *) &req)[n - 1]) {
			if (fd >= 0)
				close(fd);
			break;
		}
		rep.verb = req.verb;
		rep.op = req.op;
		rep.writes = 1;
		answer = file_child_handle(c, &req, fd, &rep);
		if (fd >= 0)
			close(fd);
		if (file_child_answer(c, answer ? &rep : NULL))
			break;
		file_child_idle(c, sock);
	}
	/* the agent closed the socket or died */
	for (int i = 0; i < FILES_MAX; i++) {
		if (c->files[i].used)
			file_child_drop(&c->files[i]);
	}
}

/* Drop to the user irrevocably; 0, or -1 and errno. */
static int file_child_become(const struct file_user *u)
{
	/* unprivileged tests run as the user already */
	if (geteuid() && u->uid == geteuid() && u->gid == getegid())
		return 0;
	if (setgroups(u->ngids, u->gids) || setresgid(u->gid, u->gid, u->gid) ||
	    setresuid(u->uid, u->uid, u->uid))
		return -1;
	return caps_keep(FILE_CHILD_CAPS);
}

void file_child_run(int sock, const struct file_user *u)
{
	if (file_child_become(u))
		_exit(FILE_EXIT_USER);
	file_child_serve(sock);
	_exit(0);
}

/* -------------------------------------------------------------- the agent --- */

/* Up to net.core.wmem_max; that much is enough, too. */
static void file_child_room(int sock)
{
	int size = REQUESTS_ROOM;

	setsockopt(sock, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

int file_child_start(int nursery, const struct file_user *user)
{
	struct file_spawn *s;
	int pair[2], rc, err;
	size_t len;

	if (user->ngids < 0 || user->ngids > FILE_GIDS_MAX) {
		errno = EINVAL;
		return -1;
	}
	len = sizeof(*s) + user->ngids * sizeof(gid_t);
	s = malloc(len);
	if (!s)
		return -1;
	s->uid = user->uid;
	s->gid = user->gid;
	s->ngids = user->ngids;
	s->job_id = user->job_id;
	if (user->ngids)
		memcpy(s + 1, user->gids, user->ngids * sizeof(gid_t));
	rc = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
	if (!rc) {
		/* a request for each piece of the pool, and an answer */
		file_child_room(pair[0]);
		file_child_room(pair[1]);
		rc = fdpass_send(nursery, s, len, pair[1]);
		if (!rc)
			rc = fcntl(pair[0], F_SETFL, O_NONBLOCK);
		err = errno;
		close(pair[1]);
		if (rc)
			close(pair[0]);
		errno = err;
	}
	err = errno;
	free(s);
	errno = err;
	return rc ? -1 : pair[0];
}

int file_child_send(int child, const struct file_request *req, int fd)
{
	size_t len = offsetof(struct file_request, path);

	len += req->spans ? req->spans * sizeof(req->span[0]) :
			    strlen(req->path);
	return fdpass_send(child, req, len + 1, fd);
}

int file_child_recv(int child, struct file_reply *rep, int *fd)
{
	ssize_t n = fdpass_recv(child, rep, sizeof(*rep), fd);

	if (n < 0)
		return errno == ECONNRESET ? 0 : -1;
	if (n == sizeof(*rep))
		return 1;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return 0;
}
