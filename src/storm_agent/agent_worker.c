/*
 * agent_worker.c - see agent_worker.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <sys/epoll.h>

#include "agent_worker.h"

static void agent_worker_ready(struct agent *a, struct agent_io *io,
			       uint32_t events)
{
	(void) events;
	storm_worker_finish(&((struct agent_worker *) io)->w, a);
}

int agent_worker_start(struct agent_worker *w, struct agent_ios *ios,
		       const char *name, unsigned int limit)
{
	int rc = storm_worker_start(&w->w, name, limit);

	if (rc)
		return rc;
	w->io.ready = agent_worker_ready;
	w->io.fd = w->w.fd;
	return agent_io_add(ios, &w->io, EPOLLIN) ? errno : 0;
}

void agent_worker_stop(struct agent_worker *w, struct agent *a)
{
	storm_worker_stop(&w->w, a); /* closes the descriptor */
	w->io.fd = -1;
}
