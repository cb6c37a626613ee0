/*
 * local.c - frames and addresses of the agent's local socket: see local.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* struct ucred */
#endif
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "fdpass.h"
#include "local.h"

#define LOCAL_MAGIC 0x534c4f43 /* "SLOC" */

struct head {
	uint32_t magic;
	uint16_t version, type;
	uint32_t len;
};

static void local_put(struct local_frame *f, const void *v, size_t n)
{
	if (f->bad || n > sizeof(f->buf) - f->len) {
		f->bad = true;
		return;
	}
	memcpy(f->buf + f->len, v, n);
	f->len += n;
}

static void local_get(struct local_frame *f, void *v, size_t n)
{
	if (f->bad || n > f->len - f->pos) {
		f->bad = true;
		memset(v, 0, n);
		return;
	}
	memcpy(v, f->buf + f->pos, n);
	f->pos += n;
}

void local_begin(struct local_frame *f, enum local_type type)
{
	struct head h = { .magic = LOCAL_MAGIC,
			  .version = LOCAL_VERSION,
			  .type = type };

	f->len = f->pos = 0;
	f->bad = false;
	f->fd = -1;
	local_put(f, &h, sizeof(h));
}

void local_put8(struct local_frame *f, uint8_t v)
{
	local_put(f, &v, sizeof(v));
}

void local_put32(struct local_frame *f, uint32_t v)
{
	local_put(f, &v, sizeof(v));
}

void local_put64(struct local_frame *f, uint64_t v)
{
	local_put(f, &v, sizeof(v));
}

void local_put_str(struct local_frame *f, const char *s)
{
	size_t n = strlen(s);

	local_put32(f, n);
	local_put(f, s, n);
}

int local_send(int sock, struct local_frame *f, int fd)
{
	uint32_t len = f->len;

	if (f->bad) {
		errno = EMSGSIZE;
		return -1;
	}
	memcpy(f->buf + offsetof(struct head, len), &len, sizeof(len));
	return fdpass_send(sock, f->buf, f->len, fd);
}

static bool local_head_ok(const struct local_frame *f, const struct head *h)
{
	return !f->bad && h->magic == LOCAL_MAGIC &&
	       h->version == LOCAL_VERSION && h->len == f->len;
}

int local_recv(int sock, struct local_frame *f, enum local_type *type)
{
	ssize_t n = fdpass_recv(sock, f->buf, sizeof(f->buf), &f->fd);
	struct head h;

	if (n <= 0)
		return n;
	f->len = n;
	f->pos = 0;
	f->bad = false;
	local_get(f, &h, sizeof(h));
	if (!local_head_ok(f, &h)) {
		if (f->fd >= 0)
			close(f->fd);
		f->fd = -1;
		errno = EPROTO;
		return -1;
	}
	*type = h.type;
	return 1;
}

uint8_t local_get8(struct local_frame *f)
{
	uint8_t v;

	local_get(f, &v, sizeof(v));
	return v;
}

uint32_t local_get32(struct local_frame *f)
{
	uint32_t v;

	local_get(f, &v, sizeof(v));
	return v;
}

uint64_t local_get64(struct local_frame *f)
{
	uint64_t v;

	local_get(f, &v, sizeof(v));
	return v;
}

void local_get_str(struct local_frame *f, char *out, size_t size)
{
	uint32_t n = local_get32(f);

	if (n >= size)
		f->bad = true;
	if (f->bad) {
		*out = '\0';
		return;
	}
	local_get(f, out, n);
	out[n] = '\0';
}

bool local_end(const struct local_frame *f)
{
	return !f->bad && f->pos == f->len;
}

int local_path(const char *rundir, const char *node, char *out, size_t size)
{
	int n;

	/* a node's name is one component */
	if (!*node || *node == '.' || strchr(node, '/'))
		return EINVAL;
	n = snprintf(out, size, "%s/%s/agent.sock",
		     rundir ? rundir : STORM_RUNDIR, node);
	return n < 0 || (size_t) n >= size ? ENAMETOOLONG : 0;
}

static int local_address(const char *rundir, const char *node,
			 struct sockaddr_un *sa)
{
	int err;

	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	err = local_path(rundir, node, sa->sun_path, sizeof(sa->sun_path));
	if (err) {
		errno = err;
		return -1;
	}
	return 0;
}

/* The directory has this uid, and no other user can write it. */
static int local_own_dir(const char *path)
{
	struct stat st;

	if (mkdir(path, 0755) && errno != EEXIST)
		return -1;
	if (lstat(path, &st))
		return -1;
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return -1;
	}
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH)) {
		errno = EPERM;
		return -1;
	}
	return 0;
}

static int local_make_dirs(const struct sockaddr_un *sa)
{
	char dir[sizeof(sa->sun_path)];
	char *node_end, *base_end;

	strcpy(dir, sa->sun_path);
	node_end = strrchr(dir, '/');
	*node_end = '\0';
	base_end = strrchr(dir, '/');
	*base_end = '\0';
	if (local_own_dir(dir))
		return -1;
	*base_end = '/';
	return local_own_dir(dir);
}

int local_make_dir(const char *rundir, const char *node)
{
	struct sockaddr_un sa;

	if (local_address(rundir, node, &sa) || local_make_dirs(&sa))
		return errno;
	return 0;
}

static int local_socket(int flags)
{
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);
}

int local_listen(const char *rundir, const char *node)
{
	struct sockaddr_un sa;
	int sock, old;

	if (local_address(rundir, node, &sa) || local_make_dirs(&sa))
		return -1;
	old = local_connect(rundir, node, NULL);
	if (old >= 0) {
		close(old);
		errno = EADDRINUSE;
		return -1;
	}
	if (unlink(sa.sun_path) && errno != ENOENT)
		return -1;
	sock = local_socket(SOCK_NONBLOCK);
	if (sock < 0)
		return -1;
	if (bind(sock, (struct sockaddr *) &sa, sizeof(sa)) ||
	    chmod(sa.sun_path, 0600) || listen(sock, 64)) {
		int err = errno;

		close(sock);
		errno = err;
		return -1;
	}
	return sock;
}

static int local_connect_by(int flags, const char *rundir, const char *node,
			    pid_t *pid)
{
	const struct timeval limit = { .tv_sec = 5 };
	struct sockaddr_un sa;
	uid_t uid;
	pid_t server;
	int sock, err;

	if (local_address(rundir, node, &sa))
		return -1;
	sock = local_socket(flags);
	if (sock < 0)
		return -1;
	/* slurmstepd must not hang if the agent does */
	if (setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ||
	    setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    connect(sock, (struct sockaddr *) &sa, sizeof(sa)) ||
	    local_peer(sock, &uid, &server))
		goto fail;
	if (uid != geteuid()) {
		errno = EPERM;
		goto fail;
	}
	if (pid)
		*pid = server;
	return sock;
fail:
	err = errno;
	close(sock);
	errno = err;
	return -1;
}

int local_connect(const char *rundir, const char *node, pid_t *pid)
{
	return local_connect_by(0, rundir, node, pid);
}

int local_tell(const char *rundir, const char *node, struct local_frame *f,
	       int fd)
{
	int sock = local_connect_by(SOCK_NONBLOCK, rundir, node, NULL), err;

	if (sock < 0)
		return errno;
	err = local_send(sock, f, fd) ? errno : 0;
	close(sock);
	return err;
}

int local_peer(int sock, uid_t *uid, pid_t *pid)
{
	struct ucred c;
	socklen_t len = sizeof(c);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &c, &len))
		return -1;
	*uid = c.uid;
	*pid = c.pid;
	return 0;
}
