/*
 * file_child.c - the process that touches the user's files as the user: see
 * file_child.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE		/* renameat2, fallocate, close_range */
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "fdpass.h"
#include "file_child.h"

#define GIDS_MAX 65536
/* what a child may have in hand at a time; operations of a session run one
 * after the other, so this is never near */
#define FILES_MAX 64

struct spawn {
	uint32_t uid, gid, ngids, job_id;
};

/* A file in hand. */
struct file {
	bool used, committed;
	uint64_t op, size;
	uint32_t flags, mode;
	int64_t atime, mtime;
	int dir;		/* where it goes */
	int fd;
	char name[NAME_MAX + 1];
	char temp[NAME_MAX + 1];
	char libdir[NAME_MAX + 1];	/* in dir; made for this file */
	bool libdir_made;
};

struct child {
	struct file files[FILES_MAX];
	int libdir;		/* of the session's last LIBDIR file, or -1 */
};

/* -------------------------------------------------------------- the child --- */

static int _fail(struct file_reply *rep, enum storm_err err, int sys)
{
	rep->err = err;
	rep->sys = sys;
	return -1;
}

/* Which of our errors an errno of a path's operation is. */
static int _fail_path(struct file_reply *rep, int sys)
{
	switch (sys) {
	case EEXIST:
		return _fail(rep, STORM_EEXIST, sys);
	case EISDIR:
	case ELOOP:
	case ENOTDIR:
	case ENAMETOOLONG:
		return _fail(rep, STORM_EPATH, sys);
	default:
		return _fail(rep, STORM_ESYS, sys);
	}
}

static bool _has_dotdot(const char *path)
{
	for (const char *p = path; (p = strstr(p, "..")); p += 2) {
		if ((p == path || p[-1] == '/') &&
		    (p[2] == '/' || !p[2]))
			return true;
	}
	return false;
}

/* Split an absolute path into its directory, opened, and its last name. */
static int _open_dir(const char *path, int *dir, char *name,
		     struct file_reply *rep)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (path[0] != '/' || _has_dotdot(path))
		return _fail(rep, STORM_EPATH, EINVAL);
	if (!slash[1] || !strcmp(slash + 1, "."))
		return _fail(rep, STORM_EPATH, EISDIR);
	if (strlen(slash + 1) > NAME_MAX)
		return _fail(rep, STORM_EPATH, ENAMETOOLONG);
	snprintf(parent, sizeof(parent), "%.*s",
		 slash == path ? 1 : (int) (slash - path), path);
	strcpy(name, slash + 1);
	*dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*dir < 0)
		return _fail_path(rep, errno);
	return 0;
}

/*
 * What stands under the final name.  The commit is a rename, so a symbolic
 * link would be replaced and not followed; Slurm's sbcast would write through
 * it.  Neither is what the user can mean: refuse.
 */
static int _check_target(const struct file *f, struct file_reply *rep)
{
	struct stat st, parent;

	if (fstatat(f->dir, f->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : _fail_path(rep, errno);
	if (S_ISDIR(st.st_mode))
		return _fail(rep, STORM_EPATH, EISDIR);
	if (!(f->flags & STORM_FILE_FORCE))
		return _fail(rep, STORM_EEXIST, EEXIST);
	if (S_ISLNK(st.st_mode))
		return _fail(rep, STORM_EPATH, ELOOP);
	if (!S_ISREG(st.st_mode))
		return _fail(rep, STORM_EPATH, ENXIO);
	/* Another's file: Slurm's sbcast must be able to write to it, and in
	 * a sticky directory the rename would be refused, after the decision. */
	if (st.st_uid != geteuid() &&
	    (faccessat(f->dir, f->name, W_OK, AT_EACCESS) ||
	     fstat(f->dir, &parent) ||
	     ((parent.st_mode & S_ISVTX) && parent.st_uid != geteuid() &&
	      geteuid() != 0)))
		return _fail_path(rep, EACCES);
	return 0;
}

/* Found here, the lack of space costs nobody a transfer.  The size stays 0, so
 * that staging can tell what was written. */
static int _reserve(const struct file *f, struct file_reply *rep)
{
	struct statfs fs;
	int rc;

	if (!f->size)
		return 0;
	/* Memory is not given in advance: every page would be visited twice,
	 * the first time while the sender waits for us. */
	if (!fstatfs(f->fd, &fs) && fs.f_type == TMPFS_MAGIC)
		return !fs.f_blocks ||
		       (f->size - 1) / fs.f_bsize < fs.f_bavail ? 0 :
			_fail_path(rep, ENOSPC);
	do {
		rc = fallocate(f->fd, FALLOC_FL_KEEP_SIZE, 0, f->size);
	} while (rc && errno == EINTR);
	if (!rc || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL)
		return 0;
	return _fail_path(rep, errno);
}

static int _make_temp(struct file *f, struct file_reply *rep)
{
	for (int tries = 0; tries < 16; tries++) {
		char temp[sizeof(f->temp)];
		uint64_t random;

		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return _fail(rep, STORM_ESYS, errno);
		snprintf(temp, sizeof(temp), ".%.200s.storm.%016llx",
			 f->name, (unsigned long long) random);
		strcpy(f->temp, temp);
		f->fd = openat(f->dir, f->temp, O_RDWR | O_CREAT | O_EXCL |
			       O_NOFOLLOW | O_CLOEXEC, 0600);
		if (f->fd >= 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	f->temp[0] = '\0';
	return _fail_path(rep, errno);
}

/* "<name>_libs", where the libraries of an executable go. */
static int _make_libdir(struct child *c, struct file *f,
			struct file_reply *rep)
{
	static const char suffix[] = "_libs";
	struct stat st;
	int fd;

	if (strlen(f->name) + sizeof(suffix) > sizeof(f->libdir))
		return _fail(rep, STORM_EPATH, ENAMETOOLONG);
	strcpy(f->libdir, f->name);
	strcat(f->libdir, suffix);
	if (!mkdirat(f->dir, f->libdir, 0700))
		f->libdir_made = true;
	else if (errno != EEXIST || !(f->flags & STORM_FILE_FORCE))
		return _fail_path(rep, errno);
	fd = openat(f->dir, f->libdir,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return _fail_path(rep, errno);
	if (fstat(fd, &st) || st.st_uid != geteuid()) {
		close(fd);
		return _fail(rep, STORM_EPATH, EPERM);
	}
	if (c->libdir >= 0)
		close(c->libdir);
	c->libdir = fd;
	return 0;
}

static void _drop(struct file *f)
{
	if (f->temp[0] && !f->committed)
		unlinkat(f->dir, f->temp, 0);
	if (f->libdir_made && !f->committed)
		unlinkat(f->dir, f->libdir, AT_REMOVEDIR);
	if (f->fd >= 0)
		close(f->fd);
	if (f->dir >= 0)
		close(f->dir);
	f->used = false;
}

static struct file *_find(struct child *c, uint64_t op)
{
	for (int i = 0; i < FILES_MAX; i++) {
		if (c->files[i].used && c->files[i].op == op)
			return &c->files[i];
	}
	return NULL;
}

static struct file *_new(struct child *c)
{
	for (int i = 0; i < FILES_MAX; i++) {
		struct file *f = &c->files[i];

		if (f->used)
			continue;
		memset(f, 0, sizeof(*f));
		f->dir = f->fd = -1;
		f->used = true;
		return f;
	}
	return NULL;
}

static int _in_libdir(struct child *c, struct file *f, const char *name,
		      struct file_reply *rep)
{
	if (c->libdir < 0)
		return _fail(rep, STORM_EINVAL, 0);
	if (!*name || strchr(name, '/') || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return _fail(rep, STORM_EPATH, EINVAL);
	if (strlen(name) > NAME_MAX)
		return _fail(rep, STORM_EPATH, ENAMETOOLONG);
	strcpy(f->name, name);
	f->dir = fcntl(c->libdir, F_DUPFD_CLOEXEC, 3);
	return f->dir < 0 ? _fail(rep, STORM_ESYS, errno) : 0;
}

static void _begin(struct child *c, const struct file_request *req,
		   struct file_reply *rep)
{
	struct file *f = _find(c, req->op) ? NULL : _new(c);
	int rc;

	if (!f) {
		_fail(rep, STORM_EINVAL, 0);
		return;
	}
	f->op = req->op;
	f->flags = req->flags;
	f->size = req->size;
	f->mode = req->mode;
	f->atime = req->atime;
	f->mtime = req->mtime;
	if (req->flags & STORM_FILE_IN_LIBDIR)
		rc = _in_libdir(c, f, req->path, rep);
	else
		rc = _open_dir(req->path, &f->dir, f->name, rep);
	if (rc || _check_target(f, rep) || _make_temp(f, rep) ||
	    _reserve(f, rep) ||
	    (f->flags & STORM_FILE_LIBDIR && _make_libdir(c, f, rep)))
		_drop(f);
}

static void _stage(struct child *c, const struct file_request *req,
		   struct file_reply *rep)
{
	struct file *f = _find(c, req->op);
	struct stat st;

	if (!f) {
		_fail(rep, STORM_ENOENT, 0);
		return;
	}
	if (fstat(f->fd, &st)) {
		_fail(rep, STORM_ESYS, errno);
		return;
	}
	if ((uint64_t) st.st_size != f->size) {
		_fail(rep, STORM_EVERIFY, 0);
		return;
	}
	/* whatever came: no set-id bits */
	if (fchmod(f->fd, f->mode & STORM_FILE_MODE)) {
		_fail(rep, STORM_ESYS, errno);
		return;
	}
	if (f->flags & STORM_FILE_TIMES) {
		struct timespec t[2] = { { .tv_sec = f->atime },
					 { .tv_sec = f->mtime } };

		if (futimens(f->fd, t))
			_fail(rep, STORM_ESYS, errno);
	}
}

/* Rename without replacing, also where the file system has no such call. */
static int _rename_new(const struct file *f)
{
	if (!renameat2(f->dir, f->temp, f->dir, f->name, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (linkat(f->dir, f->temp, f->dir, f->name, 0))
		return -1;
	unlinkat(f->dir, f->temp, 0);
	return 0;
}

static void _commit(struct child *c, const struct file_request *req,
		    struct file_reply *rep)
{
	struct file *f = _find(c, req->op);
	int rc;

	if (!f) {
		_fail(rep, STORM_ENOENT, 0);
		return;
	}
	if (f->committed)
		return;
	if (f->flags & STORM_FILE_FORCE)
		rc = renameat(f->dir, f->temp, f->dir, f->name);
	else
		rc = _rename_new(f);
	if (rc) {
		_fail_path(rep, errno);
		return;
	}
	f->committed = true;
	rep->libdir = f->libdir[0] != '\0';
}

/* The directory itself and plain names in it: what we put there, and nothing
 * below.  A directory with more in it stays. */
static void _rmdir(const struct file_request *req, struct file_reply *rep)
{
	char name[NAME_MAX + 1];
	struct dirent *d;
	int dir, fd;
	DIR *list;

	if (_open_dir(req->path, &dir, name, rep))
		return;
	fd = openat(dir, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	list = fd < 0 ? NULL : fdopendir(fd);
	if (!list) {
		if (errno != ENOENT)
			_fail_path(rep, errno);
		if (fd >= 0)
			close(fd);
		close(dir);
		return;
	}
	while ((d = readdir(list)))
		unlinkat(fd, d->d_name, 0);
	closedir(list);
	if (unlinkat(dir, name, AT_REMOVEDIR) && errno != ENOENT)
		_fail_path(rep, errno);
	close(dir);
}

/* False: no answer is due. */
static bool _handle(struct child *c, const struct file_request *req,
		    struct file_reply *rep)
{
	struct file *f;

	switch (req->verb) {
	case FILE_BEGIN:
		_begin(c, req, rep);
		return true;
	case FILE_STAGE:
		_stage(c, req, rep);
		return true;
	case FILE_COMMIT:
		_commit(c, req, rep);
		return true;
	case FILE_ABORT:
		f = _find(c, req->op);
		if (f)
			_drop(f);
		return false;
	case FILE_RMDIR:
		_rmdir(req, rep);
		return true;
	}
	_fail(rep, STORM_EINVAL, 0);
	return true;
}

static void _serve(int sock)
{
	static struct file_request req;	/* large */
	static struct child child;	/* this process is it */
	struct child *c = &child;
	ssize_t n;
	int fd;

	c->libdir = -1;
	while ((n = fdpass_recv(sock, &req, sizeof(req), &fd)) > 0) {
		struct file_reply rep = { 0 };
		struct file *f;

		if (fd >= 0)
			close(fd);
		if (n != sizeof(req) ||
		    !memchr(req.path, '\0', sizeof(req.path)))
			break;
		rep.verb = req.verb;
		rep.op = req.op;
		if (!_handle(c, &req, &rep))
			continue;
		f = req.verb == FILE_BEGIN && !rep.err ? _find(c, req.op) :
			NULL;
		if (fdpass_send(sock, &rep, sizeof(rep), f ? f->fd : -1))
			break;
	}
	/* closed, or the agent died: leave nothing half done */
	for (int i = 0; i < FILES_MAX; i++) {
		if (c->files[i].used)
			_drop(&c->files[i]);
	}
}

/* For good, with all ids; 0 or -1. */
static int _become(const struct file_user *u)
{
	/* an unprivileged test cannot and need not change */
	if (geteuid() && u->uid == geteuid() && u->gid == getegid())
		return 0;
	if (setgroups(u->ngids, u->gids) ||
	    setresgid(u->gid, u->gid, u->gid) ||
	    setresuid(u->uid, u->uid, u->uid))
		return -1;
	return 0;
}

/* ------------------------------------------------------------ the nursery --- */

static void _spawn(int nursery, int sock, const struct spawn *s,
		   const gid_t *gids, file_join_fn join)
{
	struct file_user u = { .uid = s->uid, .gid = s->gid, .gids = gids,
			       .ngids = s->ngids };
	pid_t pid = fork();

	if (pid) {
		if (pid < 0)
			fprintf(stderr, "error: cannot fork for uid %u: %s\n", s->uid,
				strerror(errno));
		return;
	}
	close(nursery);
	prctl(PR_SET_NAME, "storm_file");
	umask(077);
	signal(SIGCHLD, SIG_DFL);
	if (s->job_id && join && join(s->job_id, s->uid)) {
		fprintf(stderr, "error: cannot join job %u's namespace\n",
			s->job_id);
		_exit(1);
	}
	if (_become(&u)) {
		fprintf(stderr, "error: cannot become uid %u: %s\n", s->uid,
			strerror(errno));
		_exit(1);
	}
	_serve(sock);
	_exit(0);
}

static void _nursery(int sock, file_join_fn join)
{
	static union {
		struct spawn s;
		char room[sizeof(struct spawn) + GIDS_MAX * sizeof(gid_t)];
	} req;
	ssize_t n;
	int fd;

	prctl(PR_SET_NAME, "storm_nursery");
	signal(SIGCHLD, SIG_IGN);	/* no zombies */
	signal(SIGPIPE, SIG_IGN);
	/* the agent ends us by closing; a terminal's ^C is not for us */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	while ((n = fdpass_recv(sock, &req, sizeof(req), &fd)) > 0) {
		if (fd >= 0 && n >= (ssize_t) sizeof(req.s) &&
		    n == (ssize_t) (sizeof(req.s) +
				    req.s.ngids * sizeof(gid_t)))
			_spawn(sock, fd, &req.s,
			       (gid_t *) (req.room + sizeof(req.s)), join);
		if (fd >= 0)
			close(fd);
	}
	_exit(0);
}

static void _big_buffer(int sock)
{
	int size = 2 * (sizeof(struct spawn) + GIDS_MAX * sizeof(gid_t));

	/* root may exceed the limit; others have fewer groups than fit */
	if (setsockopt(sock, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		setsockopt(sock, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

int file_nursery_start(file_join_fn join)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	_big_buffer(pair[0]);
	pid = fork();
	if (pid < 0) {
		int err = errno;

		close(pair[0]);
		close(pair[1]);
		errno = err;
		return -1;
	}
	if (!pid) {
		/* only stdio and our socket: 3 */
		dup2(pair[1], 3);
		close_range(4, ~0U, 0);
		_nursery(3, join);
	}
	close(pair[1]);
	return pair[0];
}

int file_child_start(int nursery, const struct file_user *user)
{
	struct spawn *s;
	int pair[2], rc, err;
	size_t len;

	if (user->ngids < 0 || user->ngids > GIDS_MAX) {
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

int file_child_send(int child, const struct file_request *req)
{
	return fdpass_send(child, req, sizeof(*req), -1);
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
