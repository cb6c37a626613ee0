/*
 * px_link.c - see px_link.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "grow.h"
#include "px_link.h"
#include "px_tree.h"
#include "run_sock.h"

#define PX_PROGRAM PKGLIBEXECDIR "/storm_pmix"
#define PX_FD "3"

static struct {
	pid_t pid; /* 0: it is not there */
	int fd;
	char dir[RUN_SOCK_PATH];
	uint8_t *out; /* [at, have) is to be sent */
	size_t at, have, room;
	struct run_reader in;
} px_link = { .fd = -1 };

/* Only this user can open it.  What is there is of a launcher before, which was killed. */
static int px_link_make_dir(void)
{
	const char *job = getenv("SLURM_JOB_ID");
	char socket[RUN_SOCK_PATH], why[600];

	if (!job || !run_sock_path(job, &socket, why, sizeof(why)))
		return EACCES;
	run_sock_beside(socket, "pmix", &px_link.dir);
	px_tree_remove(px_link.dir);
	return mkdir(px_link.dir, 0700) ? errno : 0;
}

/* A variable of the launcher's, or NULL. */
static char *px_link_variable(const char *name)
{
	char *value = getenv(name);

	return value ? value - strlen(name) - 1 : NULL;
}

/* Nothing of the launcher's or a client's decides how it works, and the key of the step is
 * not its business. */
static int px_link_spawn(const char *node, int theirs)
{
	char *argv[] = { "storm_pmix", PX_FD, px_link.dir, (char *) node,
			 NULL };
	char *env[] = { px_link_variable("PATH"), NULL, NULL };
	posix_spawn_file_actions_t acts;
	posix_spawnattr_t attr;
	sigset_t all, none;
	int err;

	env[env[0] ? 1 : 0] = px_link_variable("HOME");
	sigfillset(&all);
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&acts);
	err = posix_spawn_file_actions_addopen(&acts, STDIN_FILENO, "/dev/null", O_RDONLY, 0) ?:
		      posix_spawn_file_actions_adddup2(&acts, STDERR_FILENO, STDOUT_FILENO) ?:
		      posix_spawn_file_actions_adddup2(&acts, theirs, atoi(PX_FD)) ?:
		      posix_spawn(&px_link.pid, PX_PROGRAM, &acts, &attr, argv,
				  env);
	posix_spawn_file_actions_destroy(&acts);
	posix_spawnattr_destroy(&attr);
	if (err)
		px_link.pid = 0;
	return err;
}

int px_link_start(const char *node)
{
	int s[2], err;

	if (px_link.pid)
		return 0;
	if (access(PX_PROGRAM, X_OK))
		return errno;
	err = px_link_make_dir();
	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		return errno;
	err = px_link_spawn(node, s[1]);
	close(s[1]);
	px_link.fd = s[0];
	if (err)
		px_link_ended();
	return err;
}

pid_t px_link_pid(void)
{
	return px_link.pid;
}

/* ------------------------------------------------------------------------- to it --- */

static void px_link_hang_up(void)
{
	if (px_link.fd >= 0)
		close(px_link.fd);
	px_link.fd = -1;
	px_link.at = px_link.have = 0;
}

void px_link_write(void)
{
	if (px_link.fd < 0)
		return;
	if (!run_sock_put(px_link.fd, px_link.out, &px_link.at, px_link.have))
		px_link.at = px_link.have; /* its end is on its way */
	if (px_link.at == px_link.have)
		px_link.at = px_link.have = 0;
}

/* Where a body of so many bytes belongs.  False: it is not there, or there is no
 * memory, which ends it. */
static bool px_link_frame(enum px_kind kind, size_t len, struct storm_out *o)
{
	uint8_t *body;

	if (px_link.fd < 0)
		return false;
	if (px_link.at) {
		memmove(px_link.out, px_link.out + px_link.at,
			px_link.have - px_link.at);
		px_link.have -= px_link.at;
		px_link.at = 0;
	}
	if (!grow_buffer(&px_link.out, &px_link.room,
			 px_link.have + RUN_FRAME_HEADER + len)) {
		px_link_distrust();
		return false;
	}
	run_frame_head(px_link.out + px_link.have, (enum run_kind) kind, len);
	body = px_link.out + px_link.have + RUN_FRAME_HEADER;
	px_link.have += RUN_FRAME_HEADER + len;
	*o = (struct storm_out) { body, body + len, false };
	return true;
}

void px_link_register(const struct px_register *r)
{
	struct storm_out o;

	if (!px_link_frame(PX_REGISTER, px_register_len(r), &o))
		return;
	px_register_put(&o, r);
	px_link_write();
}

void px_link_say(enum px_kind kind, const struct px_msg *m)
{
	struct storm_out o;

	if (!px_link_frame(kind, px_msg_len(m), &o))
		return;
	px_msg_put(&o, m);
	px_link_write();
}

void px_link_fenced(const struct pmi_fenced *f)
{
	struct storm_out o;

	if (!px_link_frame(PX_FENCED, pmi_fenced_len(f), &o))
		return;
	pmi_fenced_put(&o, f);
	px_link_write();
}

/* ----------------------------------------------------------------------- from it --- */

int px_link_fd(bool *writes)
{
	*writes = px_link.have > px_link.at;
	return px_link.fd;
}

bool px_link_next(enum px_kind *kind, struct storm_in *body)
{
	for (;;) {
		enum run_kind raw;
		int whole = run_reader_next(&px_link.in, &raw, body);
		size_t room;
		uint8_t *to;
		ssize_t n;

		*kind = (enum px_kind) raw;
		if (whole > 0)
			return true;
		if (px_link.fd < 0)
			return false;
		to = whole ? NULL : run_reader_room(&px_link.in, &room);
		if (!to) {
			px_link_distrust();
			return false;
		}
		n = recv(px_link.fd, to, room, MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0) {
			px_link_hang_up();
			return false;
		}
		px_link.in.have += (size_t) n;
	}
}

void px_link_distrust(void)
{
	px_link_hang_up();
	if (px_link.pid)
		kill(px_link.pid, SIGKILL);
}

void px_link_ended(void)
{
	px_link.pid = 0;
	px_link_hang_up();
	run_reader_fini(&px_link.in);
	memset(&px_link.in, 0, sizeof(px_link.in));
	px_tree_remove(px_link.dir);
}

void px_link_stop(void)
{
	if (!px_link.pid)
		return;
	kill(px_link.pid, SIGKILL);
	while (waitpid(px_link.pid, NULL, 0) < 0 && errno == EINTR)
		;
	px_link_ended();
}
