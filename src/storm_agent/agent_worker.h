/*
 * agent_worker.h - a thread for calls that may block (MUNGE, name services,
 * slurmctld).  Its results are handled in the main loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_WORKER_H
#define STORM_AGENT_WORKER_H

#include "agent_io.h"
#include "src/libstorm/base/worker.h"

struct agent_worker {
	struct agent_io io;    /* readable: there are results */
	struct storm_worker w; /* the jobs' host: the agent */
};

/* Start the thread, with this name.  limit: how many jobs may wait.  0 or an
 * errno. */
int agent_worker_start(struct agent_worker *w, struct agent_ios *ios,
		       const char *name, unsigned int limit);
/* Call done() of all jobs, also of those that did not run. */
void agent_worker_stop(struct agent_worker *w, struct agent *a);

#endif
