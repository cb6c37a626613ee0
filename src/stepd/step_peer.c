/*
 * step_peer.c - see step_peer.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "step_peer.h"

#define TRIES 3 /* for answers to earlier questions */
#define NEAR 32 /* descriptors that are looked at before all others */

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 req;
};

union answer {
	struct nlmsghdr head;
	char bytes[4096];
};

/* Read the answer to this question.  0 or an errno. */
static int step_peer_hear(int diag, uint32_t number, struct inet_diag_msg *out)
{
	union answer a;

	for (int i = 0; i < TRIES; i++) {
		ssize_t n = recv(diag, &a, sizeof(a), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		if (!NLMSG_OK(&a.head, (size_t) n) ||
		    a.head.nlmsg_seq != number)
			continue;
		if (a.head.nlmsg_type == NLMSG_ERROR)
			return -((struct nlmsgerr *) NLMSG_DATA(&a.head))->error;
		if (a.head.nlmsg_len < NLMSG_LENGTH(sizeof(*out)))
			return EBADMSG;
		memcpy(out, NLMSG_DATA(&a.head), sizeof(*out));
		return 0;
	}
	return EBADMSG;
}

/* What the kernel knows of the socket from -> to.  0 or an errno; ENOENT: there
 * is none. */
static int step_peer_ask(int diag, const struct sockaddr_in *from,
			 const struct sockaddr_in *to,
			 struct inet_diag_msg *out)
{
	static uint32_t number;
	struct question q = {
		.head = { .nlmsg_len = sizeof(q),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST,
			  .nlmsg_seq = ++number },
		.req = { .sdiag_family = AF_INET,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = -1,
			 .id = { .idiag_sport = from->sin_port,
				 .idiag_dport = to->sin_port,
				 .idiag_src = { from->sin_addr.s_addr },
				 .idiag_dst = { to->sin_addr.s_addr },
				 .idiag_cookie = { INET_DIAG_NOCOOKIE,
						   INET_DIAG_NOCOOKIE } } },
	};

	if (send(diag, &q, sizeof(q), 0) != (ssize_t) sizeof(q))
		return errno;
	return step_peer_hear(diag, number, out);
}

static bool step_peer_is(int fd, ino_t inode)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISSOCK(st.st_mode) && st.st_ino == inode;
}

/* A descriptor of this process is that socket.  Mostly it is a little lower than
 * the connection's, as it was made just before; to list all takes longer. */
static bool step_peer_is_open_here(int conn, ino_t inode)
{
	bool found = false;
	struct dirent *d;
	DIR *dir;

	for (int fd = conn - 1; fd >= 0 && fd >= conn - NEAR && !found; fd--)
		found = step_peer_is(fd, inode);
	if (found || !(dir = opendir("/proc/self/fd")))
		return found;
	while (!found && (d = readdir(dir)))
		found = d->d_name[0] != '.' &&
			step_peer_is(atoi(d->d_name), inode);
	closedir(dir);
	return found;
}

int step_peer_open(const struct sockaddr_in *self)
{
	const struct sockaddr_in nobody = { .sin_family = AF_INET };
	const struct timeval limit = { .tv_sec = 1 };
	struct inet_diag_msg is;
	int diag = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC,
			  NETLINK_SOCK_DIAG);
	int err;

	if (diag < 0)
		return -1;
	setsockopt(diag, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	err = step_peer_ask(diag, self, &nobody, &is);
	if (!err)
		return diag;
	close(diag);
	/* ENOENT: this kernel has no inet_diag */
	errno = err == ENOENT ? EPROTONOSUPPORT : err;
	return -1;
}

/* First by the socket's user: only root's is worth the search. */
bool step_peer_is_self(int diag, int conn, const struct sockaddr_in *peer,
		       const struct sockaddr_in *self)
{
	struct inet_diag_msg is;

	return !step_peer_ask(diag, peer, self, &is) &&
	       is.idiag_uid == getuid() &&
	       step_peer_is_open_here(conn, is.idiag_inode);
}
