/*
 * file_nursery.c - see file_nursery.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"

#include "file_child.h"
#include "file_nursery.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/log_limit.h"
#include "src/libstorm/wire/digest.h"
#include "src/storm_common/caps.h"
#include "src/storm_common/child_watch.h"
#include "src/storm_common/local/fdpass.h"

/* It changes the uid, joins a job's namespace, kills what does not end, and its
 * children may be root's. */
#define FILE_NURSERY_CAPS                                                   \
	(CAPS_BIT(CAP_DAC_OVERRIDE) | CAPS_BIT(CAP_FOWNER) |                \
	 CAPS_BIT(CAP_KILL) | CAPS_BIT(CAP_SETUID) | CAPS_BIT(CAP_SETGID) | \
	 CAPS_BIT(CAP_SYS_ADMIN) | CAPS_BIT(CAP_SYS_CHROOT))
/* Five deaths in a row, each soon after the start, end the keeper, too. */
#define DEATHS_LIMIT (CHILD_BACKOFF_MIN << 5)
#define ASK_EVERY 1000 /* ms: does it answer? */
#define PATIENCE (5 * STORM_SEC)

union request {
	struct file_spawn s;
	char room[sizeof(struct file_spawn) + FILE_GIDS_MAX * sizeof(gid_t)];
};

/* A request that waits. */
struct file_waiting {
	TAILQ_ENTRY(file_waiting) link;
	int sock;
	struct file_spawn s;
	gid_t gids[];
};

static struct {
	int sock, ends; /* ends: of children */
	int asked;	/* by the keeper; -1: it is dead, or there is none */
	file_join_fn join;
	struct {
		pid_t pid;
		uid_t uid;
		int sock; /* a copy of the child's; -1: the agent closed it */
		uint64_t kill_at; /* then the child must have ended */
	} child[FILE_CHILDREN_MAX];
	int children;
	TAILQ_HEAD(, file_waiting) queue;
	int waiting;
} forks = { .sock = -1, .ends = -1, .asked = -1 };

static _Noreturn void
file_nursery_be_child(int sock, const struct file_spawn *s, const gid_t *gids)
{
	struct file_user u = {
		.uid = s->uid, .gid = s->gid, .gids = gids, .ngids = s->ngids
	};
	sigset_t none;

	/* a copy of another child's socket would hide its end */
	dup2(sock, 3);
	close_range(4, ~0U, 0);
	prctl(PR_SET_NAME, "storm_file");
	umask(077);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (s->job_id && forks.join && forks.join(s->job_id, s->uid))
		_exit(FILE_EXIT_JOB);
	file_child_run(3, &u);
	_exit(0);
}

/* Tell the agent which process it is. */
static void file_nursery_started(int sock, pid_t pid)
{
	struct file_reply rep = { .verb = FILE_STARTED, .op = (uint64_t) pid };
	int fd = (int) syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0) /* it has ended already */
		return;
	fdpass_send(sock, &rep, sizeof(rep), fd);
	close(fd);
}

/* The log gets a line a minute of each user. */
static void file_nursery_say(const char *what, uid_t uid, const char *why)
{
	const struct storm_log_source from = storm_log_uid(uid);
	uint32_t left;

	if (storm_log_due(what, &from, 1, storm_now(), &left))
		fprintf(stderr, "%s %u%s%s (%u not shown)\n", what, uid,
			*why ? ": " : "", why, left);
}

/* Why a child could not begin. */
static void file_nursery_tell(uid_t uid, int status)
{
	if (!WIFEXITED(status))
		return;
	if (WEXITSTATUS(status) == FILE_EXIT_JOB)
		file_nursery_say(
			"error: cannot join the namespace of a job of uid", uid,
			"");
	if (WEXITSTATUS(status) == FILE_EXIT_USER)
		file_nursery_say("error: cannot become uid", uid, "");
}

static void file_nursery_fork(int sock, const struct file_spawn *s,
			      const gid_t *gids)
{
	pid_t pid = fork();

	if (!pid)
		file_nursery_be_child(sock, s, gids);
	if (pid < 0) {
		file_nursery_say("error: cannot fork for uid", s->uid,
				 strerror(errno));
		return;
	}
	file_nursery_started(sock, pid);
	forks.child[forks.children].pid = pid;
	forks.child[forks.children].sock = fcntl(sock, F_DUPFD_CLOEXEC, 3);
	forks.child[forks.children].kill_at = STORM_NEVER;
	forks.child[forks.children++].uid = s->uid;
}

static bool file_nursery_has_room(uid_t uid)
{
	int count = 0;

	for (int i = 0; i < forks.children; i++)
		count += forks.child[i].uid == uid;
	return forks.children < FILE_CHILDREN_MAX &&
	       count < FILE_CHILDREN_PER_USER;
}

/* It is no fault that there is no process yet. */
static void file_nursery_waits(int sock)
{
	struct file_reply rep = { .verb = FILE_WAITS };

	fdpass_send(sock, &rep, sizeof(rep), -1);
}

/* False: too many wait. */
static bool file_nursery_defer(int sock, const struct file_spawn *s,
			       const gid_t *gids)
{
	struct file_waiting *w;
	int count = 0;

	TAILQ_FOREACH(w, &forks.queue, link)
	count += w->s.uid == s->uid;
	if (forks.waiting >= FILE_WAITING_MAX || count >= FILE_WAITING_MAX / 4)
		return false;
	w = malloc(sizeof(*w) + s->ngids * sizeof(gid_t));
	if (!w)
		return false;
	w->sock = sock;
	w->s = *s;
	if (s->ngids)
		memcpy(w->gids, gids, s->ngids * sizeof(gid_t));
	TAILQ_INSERT_TAIL(&forks.queue, w, link);
	forks.waiting++;
	file_nursery_waits(sock);
	return true;
}

/* Start those that have waited and now have room. */
static void file_nursery_continue(void)
{
	struct file_waiting *w, *next;

	for (w = TAILQ_FIRST(&forks.queue); w; w = next) {
		next = TAILQ_NEXT(w, link);
		if (!file_nursery_has_room(w->s.uid))
			continue;
		TAILQ_REMOVE(&forks.queue, w, link);
		forks.waiting--;
		file_nursery_fork(w->sock, &w->s, w->gids);
		close(w->sock);
		free(w);
	}
}

static void file_nursery_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* The agent has closed a child's socket: it must end soon.  It may be stopped,
 * for its user can do that, and then holds a place for ever. */
static void file_nursery_expect_end(int i)
{
	file_nursery_close(&forks.child[i].sock);
	forks.child[i].kill_at = storm_now() + FILE_CHILD_LINGER;
}

/* Kill those that have not ended in time.  Returns the ms to the next one. */
static int file_nursery_kill_late(void)
{
	uint64_t now = storm_now(), next = STORM_NEVER;

	for (int i = 0; i < forks.children; i++) {
		if (forks.child[i].kill_at <= now) {
			/* not waited for: the pid is still its */
			kill(forks.child[i].pid, SIGKILL);
			forks.child[i].kill_at = STORM_NEVER;
		}
		if (forks.child[i].kill_at < next)
			next = forks.child[i].kill_at;
	}
	return next == STORM_NEVER ? -1 : (int) ((next - now) / STORM_MS) + 1;
}

/* Wait for children that have ended. */
static void file_nursery_bury(void)
{
	struct signalfd_siginfo si;
	int status;
	pid_t pid;

	while (read(forks.ends, &si, sizeof(si)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < forks.children; i++)
			if (forks.child[i].pid == pid) {
				file_nursery_tell(forks.child[i].uid, status);
				file_nursery_close(&forks.child[i].sock);
				forks.child[i] = forks.child[--forks.children];
				break;
			}
	file_nursery_continue();
}

/* False: the agent has closed the socket. */
static bool file_nursery_take(void)
{
	static union request req; /* large */
	const gid_t *gids = (gid_t *) (req.room + sizeof(req.s));
	int fd;
	ssize_t len = fdpass_recv(forks.sock, &req, sizeof(req), &fd);
	bool good;

	if (len <= 0)
		return false;
	good = fd >= 0 && len >= (ssize_t) sizeof(req.s) &&
	       len == (ssize_t) (sizeof(req.s) + req.s.ngids * sizeof(gid_t));
	if (good && file_nursery_has_room(req.s.uid))
		file_nursery_fork(fd, &req.s, gids);
	else if (good && file_nursery_defer(fd, &req.s, gids))
		return true; /* keeps fd */
	if (fd >= 0)
		close(fd);
	return true;
}

/* Tell the keeper that this process does not hang. */
static void file_nursery_answer(void)
{
	char ask;
	ssize_t n = recv(forks.asked, &ask, sizeof(ask), MSG_DONTWAIT);

	if (n > 0)
		send(forks.asked, &ask, sizeof(ask),
		     MSG_DONTWAIT | MSG_NOSIGNAL);
	else if (!n || (errno != EAGAIN && errno != EINTR))
		file_nursery_close(&forks.asked);
}

/* False: the agent has closed the socket. */
static bool file_nursery_turn(void)
{
	struct pollfd p[3 + FILE_CHILDREN_MAX] = {
		{ .fd = forks.sock, .events = POLLIN },
		{ .fd = forks.ends, .events = POLLIN },
		{ .fd = forks.asked, .events = POLLIN },
	};

	/* POLLHUP comes without being asked for */
	for (int i = 0; i < forks.children; i++)
		p[3 + i].fd = forks.child[i].sock;
	if (poll(p, 3 + (nfds_t) forks.children, file_nursery_kill_late()) < 0)
		return errno == EINTR;
	for (int i = 0; i < forks.children; i++)
		if (p[3 + i].revents)
			file_nursery_expect_end(i);
	if (p[1].revents)
		file_nursery_bury();
	if (p[2].revents)
		file_nursery_answer();
	return !p[0].revents || file_nursery_take();
}

/* The nursery and its keeper.  Only the agent ends them, by closing its socket:
 * not a signal of a group, and not a log that nobody reads any more because
 * slurmd was restarted. */
static void file_nursery_be(const char *name)
{
	prctl(PR_SET_NAME, name);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	if (caps_keep(FILE_NURSERY_CAPS)) {
		fprintf(stderr, "error: cannot drop capabilities: %s\n",
			strerror(errno));
		_exit(1);
	}
}

_Noreturn void file_nursery_serve(int sock, int asked, file_join_fn join)
{
	sigset_t ends;

	file_nursery_be("storm_nursery");
	/* OpenSSL takes its time at the first use: once, not in each child */
	storm_digest_destroy(storm_digest_create());
	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	forks.sock = sock;
	forks.asked = asked;
	forks.ends = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	forks.join = join;
	TAILQ_INIT(&forks.queue);
	while (file_nursery_turn())
		;
	_exit(0);
}

/* ---------------------------------------------------------- the keeper --- */

/* It logs to the keeper's own log. */
static struct child_watch nursery = {
	.name = "the process that starts storm_file (storm_nursery, pid",
	.program = "storm_nursery",
	.patience = PATIENCE,
	.pidfd = -1,
	.log_read = -1,
	.log_write = -1,
};

/* [0]: the keeper asks by it; [1]: each nursery's in turn. */
static int asks[2];

static void file_nursery_start(int sock, file_join_fn join)
{
	pid_t pid = fork();

	if (!pid) {
		close(asks[0]); /* the keeper's end shows */
		file_nursery_serve(sock, asks[1], join);
	}
	if (pid > 0) {
		child_watch_began(&nursery, pid, true);
		return;
	}
	error("cannot start storm_nursery: %m");
	child_watch_failed(&nursery);
}

static bool file_nursery_hangs(void)
{
	uint64_t now = storm_now();
	char answer;

	while (recv(asks[0], &answer, sizeof(answer), MSG_DONTWAIT) > 0)
		child_watch_heard(&nursery, now);
	if (child_watch_hangs(&nursery, now))
		return true;
	/* without room for it the nursery does not read, and will miss it */
	send(asks[0], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	return false;
}

/* Wait for its end, or end it.  Ends the keeper with it if the agent has closed the
 * socket. */
static void file_nursery_watch(void)
{
	bool hangs = false;
	int status;

	while (!hangs && !child_watch_is_dead(&nursery, ASK_EVERY))
		hangs = file_nursery_hangs();
	status = child_watch_end(&nursery, 0, 0);
	if (!status)
		_exit(0);
	if (!hangs)
		child_watch_tell(&nursery, status);
	child_watch_forget(&nursery);
}

_Noreturn void file_nursery_keep(int sock, file_join_fn join)
{
	uint64_t now;

	file_nursery_be("storm_keeper");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, asks)) {
		error("cannot start storm_nursery: %m");
		_exit(1);
	}
	child_watch_at_once(&nursery);
	while (nursery.backoff.next < DEATHS_LIMIT) {
		child_watch_bury(&nursery);
		now = storm_now();
		if (nursery.pid)
			file_nursery_watch();
		else if (child_watch_due(&nursery, now))
			file_nursery_start(sock, join);
		else
			poll(NULL, 0, CHILD_BACKOFF_MIN);
	}
	error("the process that starts storm_file does not stay: the agent ends");
	_exit(1);
}

int file_nursery_sockets(int pair[static 2])
{
	int size = 2 * sizeof(union request);

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	/* only root exceeds the limit; in tests there are few groups */
	if (setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &size,
		       sizeof(size)))
		setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return 0;
}
