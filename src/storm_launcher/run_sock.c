/*
 * run_sock.c - see run_sock.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_peer.h"
#include "run_sock.h"
#include "src/storm_common/run_place.h"

#define WAITING 64 /* clients that wait to be accepted */

/* Another user may have made it first.  Nobody but its owner and root can remove it
 * from /tmp. */
static bool run_sock_dir_is_ours(const char *dir, char *why, size_t size)
{
	struct stat st;

	if (lstat(dir, &st)) {
		snprintf(why, size, "%s: %s", dir, strerror(errno));
		return false;
	}
	if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	    !(st.st_mode & 077))
		return true;
	snprintf(
		why, size,
		"%s is not a directory of uid %u with mode 0700, but one of uid %u with mode %04o: remove it, or ask root to",
		dir, (unsigned int) geteuid(), (unsigned int) st.st_uid,
		(unsigned int) st.st_mode & 07777);
	return false;
}

bool run_sock_path(const char *job, char (*out)[RUN_SOCK_PATH], char *why,
		   size_t size)
{
	char host[64] = "", dir[32];

	gethostname(host, sizeof(host) - 1);
	snprintf(dir, sizeof(dir), RUN_PLACE_DIR, (unsigned int) geteuid());
	if (mkdir(dir, 0700) && errno != EEXIST) {
		snprintf(why, size, "%s: %s", dir, strerror(errno));
		return false;
	}
	if (!run_sock_dir_is_ours(dir, why, size))
		return false;
	if ((size_t) snprintf(*out, sizeof(*out), RUN_PLACE_SOCKET,
			      RUN_PLACE_ARGS(job, host)) < sizeof(*out))
		return true;
	snprintf(why, size, "job %s on %s: the name is too long", job, host);
	return false;
}

void run_sock_beside(const char *path, const char *part,
		     char (*out)[RUN_SOCK_PATH])
{
	const char *dot = strrchr(path, '.');

	snprintf(*out, sizeof(*out), "%.*s.%s",
		 (int) (dot ? dot - path : (ptrdiff_t) strlen(path)), path,
		 part);
}

static bool run_sock_is_at(int fd, const char *path)
{
	struct stat here, there;

	return !fstat(fd, &here) && !lstat(path, &there) &&
	       here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

int run_sock_lock(const char *path, bool wait)
{
	for (;;) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			      0600);
		int err;

		if (fd < 0)
			return -1;
		do
			err = flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) ?
				      errno :
				      0;
		while (err == EINTR);
		if (!err && run_sock_is_at(fd, path))
			return fd;
		close(fd);
		if (err) {
			errno = err;
			return -1;
		}
	}
}

static void run_sock_unlink(const char *path, const char *part)
{
	char name[RUN_SOCK_PATH];

	run_sock_beside(path, part, &name);
	unlink(name);
}

void run_sock_remove_lock(const char *path, bool log)
{
	if (log)
		run_sock_unlink(path, "log");
	run_sock_unlink(path, "keep");
}

void run_sock_remove(const char *path, bool log)
{
	run_sock_unlink(path, "sock");
	run_sock_unlink(path, "new");
	run_sock_remove_lock(path, log);
}

static bool run_sock_address(const char *path, struct sockaddr_un *un)
{
	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(un->sun_path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(un->sun_path, path, strlen(path));
	return true;
}

static bool run_sock_peer(int sock, struct ucred *who)
{
	socklen_t len = sizeof(*who);

	return !getsockopt(sock, SOL_SOCKET, SO_PEERCRED, who, &len) &&
	       who->uid == geteuid();
}

static int run_sock_close(int sock)
{
	int err = errno;

	close(sock);
	errno = err;
	return -1;
}

int run_sock_connect(const char *path)
{
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct ucred who = { 0 };
	struct sockaddr_un un;

	if (sock < 0)
		return -1;
	if (!run_sock_address(path, &un) ||
	    connect(sock, (struct sockaddr *) &un, sizeof(un)))
		return run_sock_close(sock);
	if (run_sock_peer(sock, &who))
		return sock;
	errno = EPERM;
	return run_sock_close(sock);
}

int run_sock_listen(const char *path)
{
	int sock =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un un;

	if (sock < 0)
		return -1;
	if (!run_sock_address(path, &un))
		return run_sock_close(sock);
	unlink(path); /* one that a head before has left */
	if (bind(sock, (struct sockaddr *) &un, sizeof(un)) ||
	    chmod(path, 0600) || listen(sock, WAITING))
		return run_sock_close(sock);
	return sock;
}

/* A new socket has room for it. */
static void run_sock_refuse(int sock, unsigned long job)
{
	char text[100];
	uint8_t frame[RUN_FRAME_HEADER + sizeof(text)];
	int len = snprintf(
		text, sizeof(text),
		"refused: this process is not of job %lu, which has these launchers",
		job);

	run_frame_head(frame, RUN_REFUSED, (size_t) len);
	memcpy(frame + RUN_FRAME_HEADER, text, (size_t) len);
	(void) send(sock, frame, RUN_FRAME_HEADER + (size_t) len,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
}

int run_sock_accept(int listener)
{
	int sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred who = { 0 };
	unsigned long job;

	if (sock < 0)
		return -1;
	if (run_sock_peer(sock, &who)) {
		if (run_peer_is_near(who.pid, &job))
			return sock;
		run_sock_refuse(sock, job);
	}
	errno = EPERM;
	return run_sock_close(sock);
}

int run_sock_receive(int sock, struct run_reader *r, int (*fd)[RUN_SOCK_FDS])
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(RUN_SOCK_FDS * sizeof(int))];
	} control;
	struct msghdr m = { 0 };
	struct iovec io;
	size_t count = 0;
	ssize_t n;

	io.iov_base = run_reader_room(r, &io.iov_len);
	if (!io.iov_base)
		return -1;
	m.msg_iov = &io;
	m.msg_iovlen = 1;
	m.msg_control = &control;
	m.msg_controllen = sizeof(control);
	n = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(*fd, CMSG_DATA(c), count * sizeof(int));
	}
	r->have += (size_t) n;
	return n ? (int) count : -1;
}

bool run_sock_wait(int sock, struct run_reader *r, enum run_kind *kind,
		   struct storm_in *body)
{
	int got = 0, fd[RUN_SOCK_FDS], whole;

	while (!(whole = run_reader_next(r, kind, body)) && got >= 0) {
		struct pollfd p = { .fd = sock, .events = POLLIN };

		if (poll(&p, 1, -1) < 0)
			continue;
		got = run_sock_receive(sock, r, &fd);
		for (int k = 0; k < got; k++)
			close(fd[k]); /* nobody sends any here */
	}
	return whole > 0;
}

static ssize_t run_sock_send_some(int sock, const void *buf, size_t len,
				  const int fd[RUN_SOCK_FDS])
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(RUN_SOCK_FDS * sizeof(int))];
	} control = { 0 };
	struct iovec io = { (void *) buf, len };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };

	if (fd) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(RUN_SOCK_FDS * sizeof(int));
		memcpy(CMSG_DATA(&control.head), fd,
		       RUN_SOCK_FDS * sizeof(int));
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL);
}

int run_sock_send(int sock, const void *buf, size_t len,
		  const int fd[RUN_SOCK_FDS])
{
	const uint8_t *at = buf;

	while (len) {
		ssize_t n = run_sock_send_some(sock, at, len, fd);
		struct pollfd p = { .fd = sock, .events = POLLOUT };

		if (n < 0 && errno == EAGAIN)
			poll(&p, 1, -1);
		else if (n < 0 && errno != EINTR)
			return -1;
		if (n <= 0)
			continue;
		at += n;
		len -= (size_t) n;
		fd = NULL;
	}
	return 0;
}

bool run_sock_put(int sock, const void *buf, size_t *at, size_t len)
{
	while (*at < len) {
		ssize_t n = send(sock, (const uint8_t *) buf + *at, len - *at,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		*at += (size_t) n;
	}
	return true;
}
