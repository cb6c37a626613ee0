/*
 * agent_gang_waits.c - reads how a step's ranks wait, which they tell with
 * --storm-wait (wait_page.h).
 *
 * slurmstepd has the page open, and nothing else names it.  The main loop finds it
 * there once, and reads it now and then.  A page cannot shrink, but it is never
 * mapped all the same.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/xmalloc.h"

#include "agent_gang_private.h"
#include "src/storm_wait/wait_page.h"

struct gang_waits {
	int fd; /* -1: the step has no page */
	struct wait_account last;
};

void agent_gang_waits_free(struct gang_waits *w)
{
	if (w && w->fd >= 0)
		close(w->fd);
	xfree(w);
}

/* -1: none. */
static int agent_gang_waits_find(pid_t slurmstepd)
{
	char dir[32], path[64], to[64];
	struct dirent *e;
	int fd = -1;
	ssize_t n;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%d/fd", slurmstepd);
	d = opendir(dir);
	while (d && fd < 0 && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%.16s", dir, e->d_name);
		n = readlink(path, to, sizeof(to) - 1);
		to[n < 0 ? 0 : n] = '\0';
		if (!strcmp(to, WAIT_PAGE_LINK))
			fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	if (d)
		closedir(d);
	return fd;
}

void agent_gang_waits_look(struct agent_gang *g, struct gang_local *l)
{
	struct gang_waits *w = l->page;
	struct wait_account now;

	if (!w) {
		w = l->page = xmalloc(sizeof(*w));
		w->fd = agent_gang_waits_find(l->step.root);
	}
	if (w->fd < 0 || !wait_page_sum(w->fd, &now))
		return;
	agent_gang_lock(g);
	if (now.waits != w->last.waits || !freezer_held(l->f))
		gang_grain_add(&l->grain, now.waits - w->last.waits,
			       now.computed - w->last.computed,
			       now.waited - w->last.waited,
			       now.ran - w->last.ran);
	agent_gang_unlock(g);
	w->last = now;
}
