/*
 * agent_gang_doors.c - lets the tasks of a new step wait, just before exec, until
 * their job's turn begins (paper section 2.2; step_door.h).  Once all tasks are at
 * the door the step is stopped and continued as any other, and the door opens with
 * its first turn (agent_gang_turns.c).  How long the tasks waited goes to srun, for
 * its timeline.
 *
 * A door comes before the step's record, and ends when nobody waits any more.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"

#include "agent_gang.h"
#include "agent_gang_private.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/storm_common/step_protocol.h"

static void agent_gang_door_release(struct agent_io *io)
{
	xfree(io);
}

/* NULL: it has left no record yet, or no more. */
static struct gang_local *agent_gang_door_step(const struct agent_gang *g,
					       const struct gang_door *d)
{
	struct gang_local *l = g->steps;

	while (l && l->step.root != d->root)
		l = l->next;
	return l;
}

/* All tasks are there, and the record is: from now on it takes turns. */
static void agent_gang_door_met(struct agent_gang *g, struct gang_local *l,
				uint64_t since)
{
	agent_gang_before(g);
	turns_step_met(g->turns, l->turns, since, storm_now());
	agent_gang_do(g);
}

void agent_gang_door_find(struct agent_gang *g, struct gang_local *l)
{
	struct gang_door *d = g->doors;

	while (d && d->root != l->step.root)
		d = d->next;
	l->door = d;
	if (!d)
		return;
	turns_step_door(l->turns);
	if (d->met)
		agent_gang_door_met(g, l, d->met);
}

/* srun need not know of less than half a millisecond. */
static void agent_gang_door_report(struct agent *a, const struct gang_door *d)
{
	uint64_t end = d->opened ? d->opened : storm_now();
	uint64_t ms = d->met ? (end - d->met + STORM_MS / 2) / STORM_MS : 0;
	struct agent_session *s = agent_session_of_step(a, &d->step);
	struct storm_idset ids = { 0 };

	if (!s || !ms)
		return;
	if (ms > UINT32_MAX)
		ms = UINT32_MAX;
	/* a timeline that lacks it is no fault */
	if (!storm_idset_add(&ids, s->self, s->self))
		storm_nm_report(a->nm, s->id, STEP_REPORT_SLOT, (uint32_t) ms,
				&ids, storm_now());
	storm_idset_clear(&ids);
}

/* It is the caller's alone then. */
static void agent_gang_door_take_out(struct agent_gang *g, struct gang_door *d)
{
	struct gang_local *l = agent_gang_door_step(g, d);
	struct gang_door **p;

	agent_gang_lock(g);
	if (l && l->door == d) {
		l->door = NULL;
		turns_step_door_gone(l->turns);
	}
	for (p = &g->doors; *p != d; p = &(*p)->next)
		;
	*p = d->next;
	agent_gang_unlock(g);
}

static void agent_gang_door_ready(struct agent *a, struct agent_io *io,
				  uint32_t events)
{
	struct gang_door *d = (struct gang_door *) io;
	struct agent_gang *g = a->gang;
	struct gang_local *l;
	char byte;

	if (!d->met && recv(io->fd, &byte, sizeof(byte), MSG_DONTWAIT) == 1) {
		l = agent_gang_door_step(g, d);
		agent_gang_lock(g);
		d->met = storm_now();
		if (l)
			agent_gang_door_met(g, l, d->met);
		agent_gang_unlock(g);
	}
	if (events & (EPOLLHUP | EPOLLERR)) {
		agent_gang_door_take_out(g, d);
		agent_gang_door_report(a, d);
		agent_io_close(&a->ios, io);
	}
}

void agent_gang_door(struct agent *a, const struct agent_step *step, pid_t root,
		     int fd)
{
	struct agent_gang *g = a->gang;
	struct gang_door *d;

	if (!g) {
		close(fd);
		return;
	}
	d = xmalloc(sizeof(*d));
	d->step = *step;
	d->root = root;
	d->io.fd = fd;
	d->io.ready = agent_gang_door_ready;
	d->io.release = agent_gang_door_release;
	if (agent_io_add(&a->ios, &d->io, EPOLLIN)) {
		error("gang: step %u.%u does not wait for its turn: epoll: %m",
		      step->job_id, step->step_id);
		close(fd);
		xfree(d);
		return;
	}
	agent_gang_lock(g);
	d->next = g->doors;
	g->doors = d;
	agent_gang_unlock(g);
}

void agent_gang_doors_end(struct agent_gang *g)
{
	struct gang_door *d;

	while ((d = g->doors)) {
		agent_gang_door_take_out(g, d);
		agent_io_close(&g->a->ios, &d->io);
	}
}
