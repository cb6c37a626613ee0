/*
 * agent_nm.c - see agent_nm.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/read_config.h"

#include "agent_flood.h"
#include "agent_local.h"
#include "agent_nm.h"
#include "agent_pulse.h"
#include "agent_state.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/step_name.h"
#include "src/libstorm/program/drivers.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/libstorm/wire/open.h"
#include "src/libstorm/wire/wire.h"
#include "src/storm_agent/agent.h"
#include "src/storm_agent/agent_auth.h"
#include "src/storm_agent/agent_file.h"
#include "src/storm_agent/agent_health.h"
#include "src/storm_agent/agent_launch.h"
#include "src/storm_agent/agent_session.h"
#include "src/storm_agent/turns/agent_gang.h"
#include "src/storm_common/step_protocol.h"

/* --------------------------------------------------------------- sessions --- */

static int agent_nm_ready(void *host, const struct storm_open_info *info)
{
	int err = info->cluster ? agent_gang_ready(host) : 0;

	return err ? STORM_REFUSAL(STORM_EBUSY, err & 0xff) : STORM_OK;
}

static void agent_nm_session_open(void *host, uint64_t session,
				  const struct storm_open_info *info,
				  void **ctx)
{
	struct agent *a = host;
	struct agent_session *s =
		agent_session_create(a, session, info, a->auth.admitting);
	char step[STORM_STEP_NAME];

	a->auth.admitting = NULL;
	*ctx = s;
	debug("session %016" PRIx64 " of uid %u for %s is open, node %u of %u",
	      session, info->uid,
	      storm_step_name(&step, info->job_id, info->step_id), info->self,
	      info->count);
	agent_health_session(s);
	if (s->cluster) {
		agent_gang_session_open(s);
		agent_pulse_session(a, s->id);
	}
}

static void agent_nm_session_close(void *host, void *ctx)
{
	struct agent_session *s = ctx;

	(void) host;
	if (!s)
		return;
	debug("session %016" PRIx64 " is closed", s->id);
	if (s->cluster)
		agent_pulse_session(s->a, 0);
	agent_gang_session_close(s);
	agent_launch_session_close(s);
	agent_local_session_close(s);
	agent_file_session_close(s);
	agent_session_destroy(s);
}

static void agent_nm_event(void *host, void *ctx, uint64_t session,
			   uint32_t remote_event, const void *buf, size_t len)
{
	struct agent_session *s = ctx;

	(void) host;
	if (s->cluster)
		agent_gang_event(s, remote_event, buf, len);
	else if (remote_event == STEP_EVENT_LAUNCH)
		agent_launch(s, buf, len, storm_now());
	else if (remote_event == STEP_EVENT_SIGNAL)
		agent_launch_signal(s, buf, len, storm_now());
	else if (remote_event == STEP_EVENT_LAUNCHED)
		agent_launch_told(s, buf, len);
	else
		debug("session %016" PRIx64 ": unknown event %u", session,
		      remote_event);
}

static void agent_nm_strobe(void *host, void *ctx, uint64_t session,
			    uint64_t number, const struct storm_rx *rx,
			    const void *buf, size_t len)
{
	(void) session;
	agent_gang_strobe(host, ctx, number, rx, buf, len);
}

static void agent_nm_acked(void *host, void *ctx, uint8_t kind,
			   const struct storm_idset *ids)
{
	(void) host;
	agent_local_acked(ctx, kind, ids);
}

static bool agent_nm_gather(void *host, void *ctx, uint64_t session,
			    uint64_t id, const void *query, size_t len,
			    struct storm_gather_own *own)
{
	(void) session;
	(void) id;
	agent_state(host, ctx, query, len, own);
	return true;
}

static bool agent_nm_trusted(void *host, uint32_t uid)
{
	(void) host;
	return !uid || uid == slurm_conf.slurm_user_id;
}

static const struct storm_nm_ops agent_nm_ops = {
	.authenticate = agent_auth_open,
	.route = agent_auth_route,
	.ready = agent_nm_ready,
	.session_open = agent_nm_session_open,
	.session_close = agent_nm_session_close,
	.file_begin = agent_file_begin,
	.file_waits = agent_file_waits,
	.file_room = agent_file_room,
	.file_write = agent_file_write,
	.file_read = agent_file_read,
	.file_stage = agent_file_stage,
	.file_commit = agent_file_commit,
	.file_end = agent_file_end,
	.event = agent_nm_event,
	.strobe = agent_nm_strobe,
	.gather = agent_nm_gather,
	.acked = agent_nm_acked,
	.trusted = agent_nm_trusted,
};

/* ---------------------------------------------------------------- network --- */

static void agent_nm_datagrams(void *arg, struct storm_rx *rx, size_t n)
{
	struct agent *a = arg;

	storm_nm_datagrams(a->nm, rx, n, storm_now());
}

static void agent_nm_stream(void *arg, uint64_t stream, const void *buf,
			    size_t len)
{
	struct agent *a = arg;

	storm_nm_stream(a->nm, stream, buf, len, storm_now());
}

static void agent_nm_stream_failed(void *arg, uint64_t session, uint32_t node,
				   enum storm_err why, int sys)
{
	struct agent *a = arg;

	storm_nm_stream_failed(a->nm, session, node, why, sys, storm_now());
}

static void agent_nm_net_ready(struct agent *a, struct agent_io *io,
			       uint32_t events)
{
	(void) io;
	(void) events;
	agent_gang_exchange(a);
	agent_flood_poll(a);
}

/* ---------------------------------------------------------- start and end --- */

int agent_nm_start(struct agent *a)
{
	const struct storm_net_handler h = { .datagrams = agent_nm_datagrams,
					     .stream = agent_nm_stream,
					     .stream_failed =
						     agent_nm_stream_failed,
					     .arg = a };
	const struct storm_driver *driver = storm_driver_of(&a->conf.set);
	struct storm_net *net;
	int err;

	net = driver->create(&a->conf.set, STORM_ROLE_NODE,
			     a->net.has_place ? &a->net.place : NULL, &h, &err);
	if (!net) {
		/* the driver has said more of a system call */
		if (err != STORM_ESYS)
			error("cannot use port %u: %s", a->conf.set.port,
			      storm_strerror(err));
		return -1;
	}
	a->net.driver = driver;
	a->net.net = net;
	a->nm = storm_nm_create(&a->conf.set, driver->transport(net),
				&agent_nm_ops, a, &err);
	if (!a->nm) {
		error("cannot start: %s", storm_strerror(err));
		return -1;
	}
	a->net.io.fd = driver->fd(net);
	a->net.io.ready = agent_nm_net_ready;
	if (agent_io_add(&a->ios, &a->net.io, EPOLLIN)) {
		error("epoll: %m");
		return -1;
	}
	return 0;
}

void agent_nm_stop(struct agent *a)
{
	storm_nm_destroy(a->nm);
}

void agent_nm_close(struct agent *a)
{
	if (a->net.net)
		a->net.driver->destroy(a->net.net);
}
