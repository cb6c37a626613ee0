/*
 * agent_launch.c - the last hop of the launch message (paper Algorithm 5,
 * LAUNCH-JOB).  The agent writes the bytes that the domain's owner cast to this
 * node's slurmd, which makes all of Slurm's checks.  It decodes as much of
 * slurmd's answer as it needs to find the return code.
 *
 * A message that signals the step's tasks goes the same way.  srun's user has
 * signed it (MUNGE), and slurmd lets it signal only tasks of that user: the
 * agent adds no right of its own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_common.h"
#include "src/common/slurm_protocol_defs.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "agent.h"
#include "agent_launch.h"
#include "agent_message.h"
#include "agent_session.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/log_limit.h"
#include "src/libstorm/base/shown.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/libstorm/wire/wire.h"
#include "src/storm_common/step_protocol.h"

/* long enough for a restart of slurmd */
#define SLURMD_WAIT (5 * STORM_SEC)
#define SLURMD_RETRY (50 * STORM_MS)
#define ANSWER_MAX 65536

struct agent_launch {
	struct agent_io io;
	struct agent_launch *next;
	struct agent_session *s; /* NULL: ended */
	uint8_t *msg;
	size_t len, written;
	uint8_t *answer;
	size_t have, room;
	uint64_t give_up, retry_at; /* retry_at 0: connected */
	uint32_t order;		    /* of a signal; 0: it launches */
};

static void agent_launch_release(struct agent_io *io)
{
	struct agent_launch *l = (struct agent_launch *) io;

	xfree(l->msg);
	xfree(l->answer);
	xfree(l);
}

/* Remove it from its session and free it. */
static void agent_launch_end(struct agent *a, struct agent_launch *l)
{
	struct agent_launch **p;

	if (l->s) {
		if (l->len)
			storm_nm_hold(a->nm, l->s->id,
				      -(int64_t) (l->len + ANSWER_MAX));
		for (p = &l->s->launches; *p != l; p = &(*p)->next)
			;
		*p = l->next;
		l->s = NULL;
	}
	if (l->io.fd >= 0)
		agent_io_close(&a->ios, &l->io);
	else
		agent_launch_release(&l->io);
}

static void agent_launch_count(struct agent *a, const struct agent_launch *l,
			       uint32_t code, const char *text)
{
	const struct agent_step *step = &l->s->step;
	const struct storm_log_source from = storm_log_uid(step->uid);

	a->count.launches++;
	if (!l->s->self)
		a->count.steps_first++;
	if (!code)
		return;
	a->count.launches_failed++;
	storm_log_from(&from, STORM_LOG_INFO,
		       "launch of step %u.%u by uid %u: %s%s%s", step->job_id,
		       step->step_id, step->uid, slurm_strerror((int) code),
		       text ? ": " : "", STORM_SHOWN(text));
}

/* text: what slurmd adds to the code, or NULL. */
static void agent_launch_report(struct agent *a, struct agent_launch *l,
				uint32_t code, const char *text)
{
	struct storm_idset ids = { 0 };
	struct agent_session *s = l->s;
	const struct storm_log_source from = storm_log_uid(s->step.uid);
	uint8_t kind = STEP_REPORT_DELIVERED;

	if (l->order) {
		a->count.signals++;
		kind = STEP_REPORT_SIGNALED;
		code = STEP_SIGNALED(l->order, code);
	} else {
		agent_launch_count(a, l, code, text);
	}
	if (storm_idset_add(&ids, s->self, s->self) ||
	    storm_nm_report(a->nm, s->id, kind, code, &ids, storm_now()))
		storm_log_from(
			&from, STORM_LOG_ERROR,
			l->order ? "cannot report the signal of step %u.%u" :
				   "cannot report the launch of step %u.%u",
			s->step.job_id, s->step.step_id);
	storm_idset_clear(&ids);
	agent_launch_end(a, l);
}

/* Write what the socket takes.  0, or an errno: EAGAIN, it takes no more. */
static int agent_launch_send(struct agent_launch *l)
{
	while (l->written < l->len) {
		ssize_t n = send(l->io.fd, l->msg + l->written,
				 l->len - l->written, MSG_NOSIGNAL);

		if (n < 0)
			return errno == EINTR ? EAGAIN : errno;
		l->written += n;
	}
	return 0;
}

/* With CommunicationParameters=NoInAddrAny.  The name service may block, so a worker
 * asks it. */
struct launch_look {
	struct storm_job job;
	char *node;
	slurm_addr_t address;
	bool found;
};

static void agent_launch_look_work(struct storm_job *job)
{
	struct launch_look *l = (struct launch_look *) job;

	l->found = !slurm_conf_get_addr(l->node, &l->address, 0);
}

static void agent_launch_look_done(void *host, struct storm_job *job)
{
	struct launch_look *l = (struct launch_look *) job;
	struct agent *a = host;

	a->slurmd.looking = false;
	if (l->found)
		a->slurmd.address = l->address;
	xfree(l->node);
	xfree(l);
}

void agent_launch_look(struct agent *a)
{
	struct launch_look *l;

	if (!a->slurmd.own_address || a->slurmd.looking)
		return;
	l = xmalloc(sizeof(*l));
	l->job.work = agent_launch_look_work;
	l->job.done = agent_launch_look_done;
	l->node = xstrdup(a->node);
	a->slurmd.looking = storm_worker_add(&a->controller.w, &l->job);
	if (!a->slurmd.looking) {
		xfree(l->node);
		xfree(l);
	}
}

/* False: could not begin to connect; retry.  slurmd is on this host, so it is
 * mostly connected at once, and can be written to.  agent_launch_ready() looks
 * after all else. */
static bool agent_launch_connect(struct agent *a, struct agent_launch *l)
{
	struct sockaddr_storage addr = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *) &addr;
	socklen_t len = sizeof(*in);
	int fd, one = 1;

	if (a->slurmd.own_address) {
		addr = a->slurmd.address;
		if (addr.ss_family == AF_UNSPEC) {
			agent_launch_look(a);
			return false;
		}
		if (addr.ss_family == AF_INET6)
			len = sizeof(struct sockaddr_in6);
	} else {
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	}
	/* the port is in the same place for both families */
	in->sin_port = htons(a->slurmd.port);
	fd = socket(addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		    0);
	if (fd < 0)
		return false;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(fd, (struct sockaddr *) &addr, len) &&
	    errno != EINPROGRESS) {
		close(fd);
		return false;
	}
	l->io.fd = fd;
	if (agent_io_add(&a->ios, &l->io, EPOLLIN)) {
		close(fd);
		l->io.fd = -1;
		return false;
	}
	if (agent_launch_send(l))
		agent_io_change(&a->ios, &l->io, EPOLLIN | EPOLLOUT);
	return true;
}

static void agent_launch_try(struct agent *a, struct agent_launch *l,
			     uint64_t now)
{
	const struct storm_log_source from = storm_log_uid(l->s->step.uid);
	const struct storm_log_source all = { 0 };

	if (!l->len) {
		storm_log_from(
			&from, STORM_LOG_ERROR,
			l->order ?
				"uid %u sent an invalid signal for step %u.%u, or more than it has memory for" :
				"uid %u sent an invalid launch message for step %u.%u, or more than it has memory for",
			l->s->step.uid, l->s->step.job_id, l->s->step.step_id);
		agent_launch_report(a, l, SLURM_UNEXPECTED_MSG_ERROR, NULL);
	} else if (agent_launch_connect(a, l)) {
		l->retry_at = 0;
	} else if (now >= l->give_up) {
		storm_log_from(
			&all, STORM_LOG_ERROR,
			"slurmd did not accept a connection on port %u in %d s",
			a->slurmd.port, (int) (SLURMD_WAIT / STORM_SEC));
		agent_launch_report(a, l, SLURM_COMMUNICATIONS_CONNECTION_ERROR,
				    NULL);
	} else {
		l->retry_at = now + SLURMD_RETRY;
	}
}

/* Connecting failed before a byte was written: retry with a new descriptor. */
static void agent_launch_again(struct agent *a, struct agent_launch *l)
{
	struct agent_launch *n = xmalloc(sizeof(*n)), **p;

	*n = *l;
	l->msg = l->answer = NULL;
	for (p = &l->s->launches; *p != l; p = &(*p)->next)
		;
	*p = n;
	l->s = NULL;
	agent_io_close(&a->ios, &l->io);
	n->io.fd = -1;
	n->retry_at = storm_now() + SLURMD_RETRY;
}

static void agent_launch_failed(struct agent *a, struct agent_launch *l,
				int sys)
{
	const struct storm_log_source from = storm_log_uid(l->s->step.uid);
	uint32_t code = SLURM_COMMUNICATIONS_RECEIVE_ERROR;

	if (!l->written && storm_now() < l->give_up) {
		agent_launch_look(a); /* its address may have changed */
		agent_launch_again(a, l);
		return;
	}
	storm_log_from(
		&from, STORM_LOG_ERROR,
		l->order ?
			"slurmd closed the connection in the signal of step %u.%u: %s" :
			"slurmd closed the connection in the launch of step %u.%u: %s",
		l->s->step.job_id, l->s->step.step_id,
		sys ? strerror(sys) : "end of file");
	if (!l->written)
		code = SLURM_COMMUNICATIONS_CONNECTION_ERROR;
	else if (l->written < l->len)
		code = SLURM_COMMUNICATIONS_SEND_ERROR;
	agent_launch_report(a, l, code, NULL);
}

/* False: it has failed, and l is invalid. */
static bool agent_launch_write(struct agent *a, struct agent_launch *l)
{
	int err = agent_launch_send(l);

	if (!err)
		agent_io_change(&a->ios, &l->io, EPOLLIN);
	else if (err != EAGAIN)
		agent_launch_failed(a, l, err);
	return !err || err == EAGAIN;
}

/* slurmd writes its answer in pieces: wake up for all of it. */
static void agent_launch_await(const struct agent_launch *l, size_t len)
{
	int missing = len - l->have;

	setsockopt(l->io.fd, SOL_SOCKET, SO_RCVLOWAT, &missing,
		   sizeof(missing));
}

static void agent_launch_read(struct agent *a, struct agent_launch *l)
{
	const char *text;
	uint32_t len, rc;
	ssize_t n;

	n = recv(l->io.fd, l->answer + l->have, l->room - l->have, 0);
	if (n <= 0) {
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		agent_launch_failed(a, l, n ? errno : 0);
		return;
	}
	l->have += n;
	if (l->have < sizeof(len))
		return;
	memcpy(&len, l->answer, sizeof(len));
	len = ntohl(len);
	if (len > ANSWER_MAX - sizeof(len)) {
		agent_launch_failed(a, l, EPROTO);
		return;
	}
	if (l->have < sizeof(len) + len) {
		agent_launch_await(l, sizeof(len) + len);
		return;
	}
	if (agent_message_rc(l->answer, sizeof(len) + len, &rc, &text))
		agent_launch_report(a, l, rc, text);
	else
		agent_launch_failed(a, l, EPROTO);
}

static void agent_launch_ready(struct agent *a, struct agent_io *io,
			       uint32_t events)
{
	struct agent_launch *l = (struct agent_launch *) io;
	int err = 0;
	socklen_t size = sizeof(err);

	if (!l->written &&
	    (getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &err, &size) || err)) {
		agent_launch_failed(a, l, err);
		return;
	}
	if (l->written < l->len && !agent_launch_write(a, l))
		return;
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		agent_launch_read(a, l);
}

/* Pass these bytes on, if they are good and there is memory for them.
 * agent_launch_tick() connects: this is a callback. */
static void agent_launch_pass(struct agent_session *s, uint32_t order,
			      bool good, const uint8_t *msg, size_t len,
			      uint64_t now)
{
	struct agent_launch *l = xmalloc(sizeof(*l));

	l->io.fd = -1;
	l->io.ready = agent_launch_ready;
	l->io.release = agent_launch_release;
	l->s = s;
	l->order = order;
	l->next = s->launches;
	s->launches = l;
	if (good &&
	    !storm_nm_hold(s->a->nm, s->id, (int64_t) (len + ANSWER_MAX))) {
		l->len = len;
		l->msg = xmalloc(l->len);
		memcpy(l->msg, msg, l->len);
		l->room = ANSWER_MAX;
		l->answer = xmalloc(l->room);
	}
	l->give_up = now + SLURMD_WAIT;
	l->retry_at = now;
}

void agent_launch(struct agent_session *s, const void *buf, size_t len,
		  uint64_t now)
{
	const uint8_t *msg = (const uint8_t *) buf + STEP_LAUNCH_HEAD;
	bool good = len > STEP_LAUNCH_HEAD &&
		    agent_message_is_launch(msg, len - STEP_LAUNCH_HEAD);

	/* from now on slurmstepd's query finds this session */
	s->launched = true;
	storm_nm_expect(s->a->nm, s->id, STEP_REPORT_DELIVERED, 1);
	agent_launch_pass(s, 0, good, msg, len - STEP_LAUNCH_HEAD, now);
}

void agent_launch_signal(struct agent_session *s, const void *buf, size_t len,
			 uint64_t now)
{
	const uint8_t *msg = (const uint8_t *) buf + STEP_SIGNAL_HEAD;
	struct storm_in i = { buf, (const uint8_t *) buf + len, false };
	uint32_t order = storm_get32(&i);
	bool good;

	/* srun counts them from 1 on: an old one has been passed on */
	if (i.bad || order <= s->order)
		return;
	s->order = order;
	good = s->launched &&
	       agent_message_is_signal(msg, len - STEP_SIGNAL_HEAD, &s->step);
	agent_launch_pass(s, order, good, msg, len - STEP_SIGNAL_HEAD, now);
}

void agent_launch_told(struct agent_session *s, const void *buf, size_t len)
{
	struct agent_launched one = {
		.uid = s->step.uid,
		.job = s->step.job_id,
		.step = s->step.step_id,
		.het = s->step.het,
		.at = time(NULL),
		.len = (uint8_t) len,
	};
	struct launch_record r;

	/* the owner chooses job and step; slurmstepd has them of slurmctld */
	if (!s->stepd || s->told)
		return;
	s->told = true;
	if (!launch_record_unpack(&r, buf, len))
		return;
	memcpy(one.record, buf, len);
	agent_launched_add(&s->a->launches, &one, launch_record_took(&r));
}

uint64_t agent_launch_tick(struct agent *a, uint64_t now)
{
	uint64_t next = STORM_NEVER;

	for (struct agent_session *s = a->sessions; s; s = s->next) {
		struct agent_launch *l, *after;

		for (l = s->launches; l; l = after) {
			after = l->next;
			if (l->retry_at && l->retry_at <= now)
				agent_launch_try(a, l, now);
		}
		for (l = s->launches; l; l = l->next) {
			if (l->retry_at && l->retry_at < next)
				next = l->retry_at;
		}
	}
	return next;
}

void agent_launch_session_close(struct agent_session *s)
{
	while (s->launches)
		agent_launch_end(s->a, s->launches);
}
