/*
 * metrics_child.c - see metrics_child.h.
 *
 * Through the pipe come struct metrics and then the names.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "metrics_ask.h"
#include "metrics_child.h"

#define MOST (8 << 20) /* bytes: more than the names of a cluster take */

static bool metrics_child_put(int fd, const struct metrics *m,
			      const char *names)
{
	FILE *f = fdopen(fd, "w");

	if (!f)
		return false;
	fwrite(m, sizeof(*m), 1, f);
	if (names)
		fputs(names, f);
	return !ferror(f) && !fclose(f);
}

static _Noreturn void metrics_child_run(int fd, pid_t parent, const char *list)
{
	struct metrics m;
	sigset_t none;
	char *names;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	/* not the listening socket, nor those of its readers */
	if (dup2(fd, STDERR_FILENO + 1) < 0)
		_exit(1);
	close_range(STDERR_FILENO + 2, ~0U, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	(void) metrics_ask(list, &m, &names);
	_exit(metrics_child_put(STDERR_FILENO + 1, &m, names) ? 0 : 1);
}

bool metrics_child_start(struct metrics_child *c, const char *list)
{
	const pid_t parent = getpid();
	int fds[2];

	*c = (struct metrics_child) { .fd = -1 };
	if (pipe2(fds, O_CLOEXEC)) {
		perror("storm: pipe");
		return false;
	}
	c->pid = fork();
	if (!c->pid)
		metrics_child_run(fds[1], parent, list);
	close(fds[1]);
	if (c->pid < 0) {
		perror("storm: fork");
		close(fds[0]);
		c->pid = 0;
		return false;
	}
	c->fd = fds[0];
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	return true;
}

static bool metrics_child_more(struct metrics_child *c)
{
	char buf[16384], *more;
	ssize_t n;

	while ((n = read(c->fd, buf, sizeof(buf))) > 0) {
		more = c->len + (size_t) n < MOST ?
			       realloc(c->got, c->len + (size_t) n + 1) :
			       NULL;
		if (!more)
			return false;
		c->got = more;
		memcpy(c->got + c->len, buf, (size_t) n);
		c->len += (size_t) n;
		c->got[c->len] = '\0';
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

bool metrics_child_read(struct metrics_child *c, struct metrics *out,
			char **names)
{
	if (metrics_child_more(c))
		return false;
	*out = (struct metrics) { 0 };
	*names = NULL;
	if (c->len >= sizeof(*out)) {
		memcpy(out, c->got, sizeof(*out));
		if (out->answered)
			*names = strdup(c->got + sizeof(*out));
	}
	metrics_child_end(c);
	return true;
}

void metrics_child_end(struct metrics_child *c)
{
	if (c->pid) {
		kill(c->pid, SIGKILL);
		while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (c->fd >= 0)
		close(c->fd);
	free(c->got);
	*c = (struct metrics_child) { .fd = -1 };
}
