/*
 * launcher_pty.c - the pseudo terminal of a run's only task.  See launcher_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "launcher_private.h"

static bool launcher_pty_size(int terminal, const struct run_window *w)
{
	const struct winsize size = { w->rows, w->columns, w->width,
				      w->height };

	return !ioctl(terminal, TIOCSWINSZ, &size);
}

bool launcher_pty_open(struct local_task *t, int *theirs)
{
	int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

	if (ours < 0)
		return false;
	/* its output and its input are closed one by one */
	t->pipe[0] = ours;
	t->input = fcntl(ours, F_DUPFD_CLOEXEC, 0);
	if (t->input < 0 || grantpt(ours) || unlockpt(ours))
		return false;
	*theirs = ioctl(ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return *theirs >= 0 && launcher_pty_size(ours, &t->run->what.window);
}

void launcher_pty_serve(void)
{
	for (struct local_task *t = launcher.tasks; t; t = t->next) {
		struct run_window w;

		if (t->run->what.pty && t->pipe[0] >= 0 &&
		    relay_window(t->run->relay, &w) &&
		    !launcher_pty_size(t->pipe[0], &w))
			storm_log(STORM_LOG_ERROR, "the size of a terminal: %s",
				  strerror(errno));
	}
}
