/*
 * agent_io.c - see agent_io.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"

#include "agent_io.h"

#define EVENTS_MAX 32 /* for each epoll_wait() */

int agent_io_init(struct agent_ios *s)
{
	s->dead = NULL;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	return s->epoll < 0 ? -1 : 0;
}

int agent_io_add(struct agent_ios *s, struct agent_io *io, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = io };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, io->fd, &ev);
}

void agent_io_change(struct agent_ios *s, struct agent_io *io, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = io };

	if (epoll_ctl(s->epoll, EPOLL_CTL_MOD, io->fd, &ev))
		error("epoll_ctl: %m");
}

void agent_io_close(struct agent_ios *s, struct agent_io *io)
{
	if (io->fd < 0)
		return;
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, io->fd, NULL);
	close(io->fd);
	io->fd = -1;
	io->next_dead = s->dead;
	s->dead = io;
}

const char *agent_io_reap(struct agent_ios *s, struct agent_io *io,
			  siginfo_t *si)
{
	*si = (siginfo_t) { 0 };
	waitid(P_PIDFD, (id_t) io->fd, si, WEXITED);
	agent_io_close(s, io);
	return si->si_code == CLD_EXITED ? "ended with status" :
					   "was killed by signal";
}

int agent_io_serve(struct agent_ios *s, struct agent *a, int ms)
{
	struct epoll_event ev[EVENTS_MAX];
	int n = epoll_wait(s->epoll, ev, EVENTS_MAX, ms);

	for (int i = 0; i < n; i++) {
		struct agent_io *io = ev[i].data.ptr;

		if (io->fd >= 0)
			io->ready(a, io, ev[i].events);
	}
	return n < 0 ? -1 : 0;
}

void agent_io_bury(struct agent_ios *s)
{
	struct agent_io *io;

	while ((io = s->dead)) {
		s->dead = io->next_dead;
		if (io->release)
			io->release(io);
	}
}
