/*
 * agent_stepd.c - see agent_stepd.h.
 *
 * Which tasks are left is known by slurmstepd's own reports.  Which processes are
 * theirs is known by the kernel's session that slurmd makes for each slurmstepd: its
 * number is not given to another one while a process has it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <time.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"

#include "agent_stepd.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/slurm/step_over.h"
#include "src/storm_agent/agent.h"
#include "src/storm_agent/agent_session.h"
#include "src/storm_common/local/local.h"
#include "src/storm_common/proc_state.h"
#include "src/storm_common/step_protocol.h"

#define KILL_ROUNDS 50 /* a task may fork while it is looked for */

struct agent_stepd {
	struct agent_io io; /* its pidfd */
	struct agent *a;
	struct agent_stepd *next;
	void (*drain)(struct agent *a, const struct agent_stepd *d);
	uint64_t session;
	struct agent_step step;
	uint32_t node;
	pid_t pid, sid;		 /* sid 0: it has no session of its own */
	struct storm_idset left; /* tasks that have started and not ended */
};

/* In the thread for calls that may block. */
struct stepd_end {
	struct storm_job job;
	struct agent_step step;
	uint32_t node;
	pid_t sid;
};

/* How many processes of the session were there. */
static uint32_t stepd_kill_all(pid_t session)
{
	DIR *proc = session ? opendir("/proc") : NULL;
	struct dirent *e;
	uint32_t found = 0;
	pid_t pid;
	int fd;

	while (proc && (e = readdir(proc))) {
		pid = atoi(e->d_name);
		if (pid <= 0 || getsid(pid) != session)
			continue;
		/* its number may be another process's by now */
		fd = pidfd_open(pid, 0);
		if (fd < 0)
			continue;
		if (getsid(pid) == session &&
		    !pidfd_send_signal(fd, SIGKILL, NULL, 0))
			found++;
		close(fd);
	}
	if (proc)
		closedir(proc);
	return found;
}

/* What slurmstepd would have said at the step's end. */
static void stepd_complete(const struct stepd_end *e)
{
	slurm_step_id_t id = { .job_id = e->step.job_id,
			       .step_id = e->step.step_id,
			       .step_het_comp = e->step.het };

	if (step_over_tell(&id, e->node, e->node, SIGKILL, NULL) < 0)
		error("step %u.%u: slurmctld was not told that its slurmstepd is gone: %m: scancel %u.%u ends it",
		      e->step.job_id, e->step.step_id, e->step.job_id,
		      e->step.step_id);
}

static void stepd_end_work(struct storm_job *j)
{
	static const struct timespec pause = { .tv_nsec = 10 * STORM_MS };
	struct stepd_end *e = (struct stepd_end *) j;

	for (int i = 0; i < KILL_ROUNDS && stepd_kill_all(e->sid); i++)
		nanosleep(&pause, NULL);
	stepd_complete(e);
}

static void stepd_end_done(void *host, struct storm_job *j)
{
	(void) host;
	xfree(j);
}

static void agent_stepd_release(struct agent_io *io)
{
	struct agent_stepd *d = (struct agent_stepd *) io;

	storm_idset_clear(&d->left);
	xfree(d);
}

static void agent_stepd_leave(struct agent_stepd *d)
{
	struct agent_stepd **p;

	for (p = &d->a->local.stepds; *p != d; p = &(*p)->next)
		;
	*p = d->next;
	agent_io_close(&d->a->ios, &d->io);
}

/* srun hears of the tasks by the session, if it is there still. */
static void agent_stepd_report(struct agent_stepd *d)
{
	struct agent_session *s = agent_session_of_step(d->a, &d->step);

	if (s && s->id == d->session)
		storm_nm_report(d->a->nm, d->session, STEP_REPORT_EXITED,
				SIGKILL, &d->left, storm_now());
}

static void agent_stepd_end(struct agent_stepd *d)
{
	struct stepd_end *e = xmalloc(sizeof(*e));

	error("step %u.%u: slurmstepd (pid %d) was killed: %s", d->step.job_id,
	      d->step.step_id, d->pid,
	      d->sid ?
		      "its tasks here are killed as well" :
		      "its tasks here may go on, as it had no session of its own");
	e->job.work = stepd_end_work;
	e->job.done = stepd_end_done;
	e->step = d->step;
	e->node = d->node;
	e->sid = d->sid;
	if (!storm_worker_add(&d->a->controller.w, &e->job))
		xfree(e);
}

static void agent_stepd_ready(struct agent *a, struct agent_io *io,
			      uint32_t events)
{
	struct agent_stepd *d = (struct agent_stepd *) io;

	(void) events;
	/* what it has said last counts */
	d->drain(a, d);
	if (d->left.count) {
		agent_stepd_report(d);
		agent_stepd_end(d);
	}
	agent_stepd_leave(d);
}

/* Not slurmd's session, nor the agent's. */
static pid_t stepd_session(const struct agent *a, pid_t pid)
{
	pid_t sid = getsid(pid);

	return sid <= 1 || sid == getsid(0) ||
			       (a->slurmd.pid && sid == getsid(a->slurmd.pid)) ?
		       0 :
		       sid;
}

struct agent_stepd *
agent_stepd_watch(struct agent_session *s, int sock, uint32_t node,
		  void (*drain)(struct agent *a, const struct agent_stepd *d))
{
	struct agent *a = s->a;
	struct agent_stepd *d;
	pid_t pid;
	uid_t uid;
	int fd;

	if (local_peer(sock, &uid, &pid) || (fd = pidfd_open(pid, 0)) < 0)
		return NULL;
	d = xmalloc(sizeof(*d));
	d->a = a;
	d->session = s->id;
	d->step = s->step;
	d->node = node;
	d->drain = drain;
	d->pid = pid;
	d->sid = stepd_session(a, pid);
	d->io.fd = fd;
	d->io.ready = agent_stepd_ready;
	d->io.release = agent_stepd_release;
	if (agent_io_add(&a->ios, &d->io, EPOLLIN)) {
		error("epoll: %m");
		close(fd);
		xfree(d);
		return NULL;
	}
	d->next = a->local.stepds;
	a->local.stepds = d;
	return d;
}

void agent_stepd_told(struct agent_stepd *d, uint8_t kind, uint32_t code,
		      const struct storm_idset *ids)
{
	if (!d)
		return;
	if (kind == STEP_REPORT_STARTED && !code)
		storm_idset_union(&d->left, ids);
	else if (kind == STEP_REPORT_EXITED)
		storm_idset_drop(&d->left, ids);
}

/* The kernel closes a process's files when it has no memory any more. */
static bool stepd_is_dying(pid_t pid)
{
	char pages[256];

	proc_read(pid, "statm", pages, sizeof(pages));
	return !strtoul(pages, NULL, 10);
}

void agent_stepd_closed(struct agent_stepd *d)
{
	if (d && !stepd_is_dying(d->pid))
		agent_stepd_leave(d);
}

void agent_stepd_stop(struct agent *a)
{
	while (a->local.stepds)
		agent_stepd_leave(a->local.stepds);
}
