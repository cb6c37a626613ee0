/*
 * agent_local.c - the agent's side of the local socket (local.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"

#include "agent_local.h"
#include "agent_stats.h"
#include "agent_stepd.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/log_limit.h"
#include "src/libstorm/base/shown.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/libstorm/transport/driver.h"
#include "src/storm_agent/agent.h"
#include "src/storm_agent/agent_peers.h"
#include "src/storm_agent/agent_session.h"
#include "src/storm_agent/turns/agent_gang.h"
#include "src/storm_common/agent_contract.h"
#include "src/storm_common/local/local.h"
#include "src/storm_common/step_protocol.h"

#define KINDS (STEP_REPORT_EXITED + 1) /* that slurmstepd waits for */

struct agent_conn {
	struct agent_io io;
	struct agent_conn *next;
	bool lifeline;			/* of a slurmd */
	struct agent_session *s;	/* a slurmstepd's, or NULL */
	struct agent_stepd *stepd;	/* it, if it is watched */
	struct storm_idset told[KINDS]; /* what it has reported, not acked */
};

static struct local_frame frame; /* large; one thread */

static void agent_local_release(struct agent_io *io)
{
	struct agent_conn *c = (struct agent_conn *) io;

	for (int i = 0; i < KINDS; i++)
		storm_idset_clear(&c->told[i]);
	xfree(c);
}

static void agent_local_end_session(struct agent_conn *c)
{
	agent_stepd_closed(c->stepd);
	c->stepd = NULL;
	c->s = NULL;
}

static void agent_local_close(struct agent *a, struct agent_conn *c)
{
	struct agent_conn **p;

	for (p = &a->local.conns; *p != c; p = &(*p)->next)
		;
	*p = c->next;
	agent_local_end_session(c);
	if (c->lifeline && !--a->slurmd.lifelines) {
		a->slurmd.orphan_until = 0;
		agent_gang_no_slurmd(a);
		if (!a->stop)
			info("slurmd is gone, waiting for the next one");
	}
	agent_io_close(&a->ios, &c->io);
}

static void agent_local_hello(struct agent *a, struct agent_conn *c)
{
	uint32_t port = local_get32(&frame);
	int log = frame.fd;
	pid_t pid = 0;
	uid_t uid;

	if (!local_end(&frame) || port > 65535) {
		agent_local_close(a, c);
		return;
	}
	frame.fd = -1;
	if (log >= 0) {
		dup3(log, STDERR_FILENO, 0);
		close(log);
	}
	if (port)
		a->slurmd.port = port;
	if (!c->lifeline) {
		/* slurmd was started again because slurm.conf has changed,
		 * perhaps */
		if (a->slurmd.pid)
			agent_peers_doubt();
		local_peer(c->io.fd, &uid, &pid);
		a->slurmd.pid = pid;
		c->lifeline = true;
		a->slurmd.lifelines++;
		a->slurmd.orphan_until = 0;
	}
	local_begin(&frame, LOCAL_HELLO_IS);
	local_put_str(&frame, AGENT_BUILD);
	local_put_str(&frame, a->conf_stamp);
	if (local_send(c->io.fd, &frame, -1))
		agent_local_close(a, c);
}

static void agent_local_ready(struct agent *a, struct agent_io *io,
			      uint32_t events);

/* Read what a slurmstepd that has ended said before; its connection is closed. */
static void agent_local_drain(struct agent *a, const struct agent_stepd *d)
{
	struct agent_conn *c;

	for (c = a->local.conns; c && c->stepd != d; c = c->next)
		;
	if (!c)
		return;
	agent_local_ready(a, &c->io, EPOLLIN);
	if (c->io.fd >= 0)
		agent_local_close(a, c);
}

static void agent_local_step(struct agent *a, struct agent_conn *c)
{
	struct agent_step step;
	uint32_t tasks, node;

	step.job_id = local_get32(&frame);
	step.step_id = local_get32(&frame);
	step.het = local_get32(&frame);
	step.uid = local_get32(&frame);
	tasks = local_get32(&frame);
	node = local_get32(&frame);
	if (!local_end(&frame)) {
		agent_local_close(a, c);
		return;
	}
	c->s = agent_session_of_step(a, &step);
	if (c->s) {
		a->count.steps++;
		c->s->stepd = true;
		if (!c->stepd)
			c->stepd = agent_stepd_watch(c->s, c->io.fd, node,
						     agent_local_drain);
		storm_nm_expect(a->nm, c->s->id, STEP_REPORT_STARTED, tasks);
		storm_nm_expect(a->nm, c->s->id, STEP_REPORT_EXITED, tasks);
	}
	local_begin(&frame, LOCAL_STEP_IS);
	local_put64(&frame, c->s ? c->s->id : 0);
	if (local_send(c->io.fd, &frame, -1))
		agent_local_close(a, c);
}

static void agent_local_report(struct agent *a, struct agent_conn *c)
{
	uint8_t kind = local_get8(&frame);
	uint32_t code = local_get32(&frame), n = local_get32(&frame);
	struct storm_idset ids = { 0 };
	bool pids = kind == STEP_REPORT_PIDS;
	int rc = 0;

	if (!c->s || (kind >= KINDS && !pids) || !n || n > LOCAL_IDS_MAX)
		goto refuse;
	for (uint32_t i = 0; i < n && !rc; i++) {
		uint32_t id = local_get32(&frame);

		rc = storm_idset_add(&ids, id, id);
	}
	if (rc || !local_end(&frame) ||
	    (!pids && storm_idset_union(&c->told[kind], &ids)))
		goto refuse;
	rc = storm_nm_report(a->nm, c->s->id, kind, code, &ids, storm_now());
	if (rc && !pids) /* only debuggers miss those */
		goto refuse;
	agent_stepd_told(c->stepd, kind, code, &ids);
	a->count.reports += n;
	storm_idset_clear(&ids);
	return;
refuse:
	/* slurmstepd falls back to Slurm's own message */
	storm_idset_clear(&ids);
	agent_local_close(a, c);
}

/* A connection says that the records of steps have changed, and ends. */
static void agent_local_steps(struct agent *a, struct agent_conn *c)
{
	if (local_end(&frame))
		agent_gang_steps(a);
	agent_local_close(a, c);
}

/* A connection brings a descriptor of a step, and ends. */
static void agent_local_given(struct agent *a, struct agent_conn *c,
			      enum local_type what)
{
	struct agent_step step;
	uid_t uid;
	pid_t pid;

	step.job_id = local_get32(&frame);
	step.step_id = local_get32(&frame);
	step.het = local_get32(&frame);
	step.uid = local_get32(&frame);
	if (local_end(&frame) && frame.fd >= 0 &&
	    !local_peer(c->io.fd, &uid, &pid)) {
		if (what == LOCAL_DOOR)
			agent_gang_door(a, &step, pid, frame.fd);
		else
			agent_gang_account(a, pid, frame.fd);
		frame.fd = -1;
	}
	agent_local_close(a, c);
}

/* A connection says why Slurm launched a step, and ends. */
static void agent_local_fallback(struct agent *a, struct agent_conn *c)
{
	struct agent_fallback f = { .at = time(NULL) };
	uint32_t cause;

	f.job = local_get32(&frame);
	f.step = local_get32(&frame);
	f.het = local_get32(&frame);
	f.uid = local_get32(&frame);
	cause = local_get32(&frame);
	local_get_str(&frame, f.text, sizeof(f.text));
	if (local_end(&frame) && cause < FALLBACK_CAUSES) {
		const struct storm_log_source from = storm_log_uid(f.uid);

		f.cause = cause;
		agent_fallback_add(&a->fallbacks, &f);
		storm_log_from(&from, STORM_LOG_INFO,
			       "step %u.%u of uid %u was launched by Slurm: %s",
			       f.job, f.step, f.uid, STORM_SHOWN(f.text));
	}
	agent_local_close(a, c);
}

static void agent_local_stats(struct agent *a, struct agent_conn *c)
{
	static char text[LOCAL_FRAME_MAX / 2];

	agent_stats(a, text, sizeof(text));
	local_begin(&frame, LOCAL_STATS_IS);
	local_put_str(&frame, text);
	if (local_send(c->io.fd, &frame, -1))
		agent_local_close(a, c);
}

static void agent_local_drop(struct agent *a, struct agent_conn *c)
{
	uint32_t ppm = local_get32(&frame);
	uint64_t seed = local_get64(&frame);

	if (!local_end(&frame) || ppm > 1000000) {
		agent_local_close(a, c);
		return;
	}
	info("--drop: from now on %u of a million received datagrams are discarded",
	     ppm);
	a->net.driver->drop(a->net.net, ppm, seed);
	local_begin(&frame, LOCAL_DROP_IS);
	if (local_send(c->io.fd, &frame, -1))
		agent_local_close(a, c);
}

/* Give slurmd its socket back, which an earlier slurmd had made. */
static void agent_local_port(struct agent *a, struct agent_conn *c)
{
	uint8_t which = local_get8(&frame);

	if (!local_end(&frame) || which > 1) {
		agent_local_close(a, c);
		return;
	}
	local_begin(&frame, LOCAL_PORT_IS);
	if (local_send(c->io.fd, &frame, a->net.port[which]))
		agent_local_close(a, c);
}

static void agent_local_ping(struct agent *a, struct agent_conn *c)
{
	local_begin(&frame, LOCAL_PING_IS);
	/* slurmd may be stopped and not read: it does not miss this one */
	if (local_send(c->io.fd, &frame, -1) && errno != EAGAIN)
		agent_local_close(a, c);
}

static void agent_local_ready(struct agent *a, struct agent_io *io,
			      uint32_t events)
{
	struct agent_conn *c = (struct agent_conn *) io;
	enum local_type type;
	int rc;

	(void) events;
	while (io->fd >= 0) {
		rc = local_recv(io->fd, &frame, &type);
		if (rc < 0 && errno == EAGAIN)
			return;
		if (rc <= 0) {
			/* slurmstepd may end with answers unread */
			if (rc && errno != ECONNRESET)
				error("local socket: %m");
			agent_local_close(a, c);
			return;
		}
		switch (type) {
		case LOCAL_HELLO:
			agent_local_hello(a, c);
			break;
		case LOCAL_STEP:
			agent_local_step(a, c);
			break;
		case LOCAL_REPORT:
			agent_local_report(a, c);
			break;
		case LOCAL_STATS:
			agent_local_stats(a, c);
			break;
		case LOCAL_DROP:
			agent_local_drop(a, c);
			break;
		case LOCAL_PORT:
			agent_local_port(a, c);
			break;
		case LOCAL_PING:
			agent_local_ping(a, c);
			break;
		case LOCAL_DOOR:
		case LOCAL_ACCOUNT:
			agent_local_given(a, c, type);
			break;
		case LOCAL_FALLBACK:
			agent_local_fallback(a, c);
			break;
		case LOCAL_STEPS:
			agent_local_steps(a, c);
			break;
		default:
			agent_local_close(a, c);
		}
		if (frame.fd >= 0)
			close(frame.fd);
		frame.fd = -1;
	}
}

static void agent_local_accept(struct agent *a, struct agent_io *io,
			       uint32_t events)
{
	struct agent_conn *c;
	uid_t uid;
	pid_t pid;
	int fd;

	(void) events;
	while ((fd = accept4(io->fd, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		if (local_peer(fd, &uid, &pid) || uid != geteuid()) {
			error("local socket: refused process %d of uid %u", pid,
			      uid);
			close(fd);
			continue;
		}
		c = xmalloc(sizeof(*c));
		c->io.fd = fd;
		c->io.ready = agent_local_ready;
		c->io.release = agent_local_release;
		if (agent_io_add(&a->ios, &c->io, EPOLLIN)) {
			error("epoll: %m");
			close(fd);
			xfree(c);
			continue;
		}
		c->next = a->local.conns;
		a->local.conns = c;
		agent_local_ready(a, &c->io, EPOLLIN); /* it asks at once */
	}
}

/* These are not told once more. */
static void agent_local_forget(struct storm_idset *told, const uint32_t *id,
			       uint32_t n)
{
	struct storm_idset acked = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		err = storm_idset_add(&acked, id[i], id[i]);
	if (!err)
		storm_idset_drop(told, &acked);
	storm_idset_clear(&acked);
}

/* Notify a slurmstepd which of its ids the owner has. */
static void agent_local_ack(struct agent *a, struct agent_conn *c, uint8_t kind,
			    const struct storm_idset *ids)
{
	uint32_t id[LOCAL_IDS_MAX], n = 0;
	struct storm_idset *told = &c->told[kind];

	for (uint32_t i = 0; i < told->count; i++) {
		for (uint64_t v = told->r[i].first; v <= told->r[i].last; v++) {
			if (n < LOCAL_IDS_MAX && storm_idset_has(ids, v))
				id[n++] = v;
		}
	}
	if (!n)
		return;
	local_begin(&frame, LOCAL_ACK);
	local_put8(&frame, kind);
	local_put32(&frame, n);
	for (uint32_t i = 0; i < n; i++)
		local_put32(&frame, id[i]);
	/* on an error slurmstepd falls back to Slurm's own messages */
	if (local_send(c->io.fd, &frame, -1))
		agent_local_close(a, c);
	else
		agent_local_forget(told, id, n);
}

void agent_local_acked(struct agent_session *s, uint8_t kind,
		       const struct storm_idset *ids)
{
	struct agent_conn *c, *next;

	if (kind >= KINDS)
		return;
	for (c = s->a->local.conns; c; c = next) {
		next = c->next;
		if (c->s == s)
			agent_local_ack(s->a, c, kind, ids);
	}
}

void agent_local_session_close(struct agent_session *s)
{
	struct agent_conn *c, *next;

	for (c = s->a->local.conns; c; c = next) {
		next = c->next;
		if (c->s != s)
			continue;
		agent_local_end_session(c);
		local_begin(&frame, LOCAL_CLOSED);
		if (local_send(c->io.fd, &frame, -1))
			agent_local_close(s->a, c);
	}
}

uint64_t agent_local_tick(struct agent *a, uint64_t now)
{
	struct agent_conn *c, *next;

	(void) now;
	if (!a->slurmd.look)
		return STORM_NEVER;
	a->slurmd.look = false;
	for (c = a->local.conns; c; c = next) {
		next = c->next;
		if (!c->lifeline)
			continue;
		local_begin(&frame, LOCAL_LOOK);
		/* one that does not read looks by itself in a while */
		if (local_send(c->io.fd, &frame, -1) && errno != EAGAIN)
			agent_local_close(a, c);
	}
	return STORM_NEVER;
}

int agent_local_start(struct agent *a)
{
	a->local.io.ready = agent_local_accept;
	a->local.io.fd = local_listen(NULL, a->node);
	if (a->local.io.fd < 0) {
		error("cannot listen on %s/%s/agent.sock: %m", STORM_RUNDIR,
		      a->node);
		return -1;
	}
	if (agent_io_add(&a->ios, &a->local.io, EPOLLIN)) {
		error("epoll: %m");
		return -1;
	}
	return 0;
}

void agent_local_stop(struct agent *a)
{
	char path[PATH_MAX];

	while (a->local.conns)
		agent_local_close(a, a->local.conns);
	agent_stepd_stop(a);
	agent_io_close(&a->ios, &a->local.io);
	if (!local_path(NULL, a->node, path, sizeof(path)))
		unlink(path);
}
