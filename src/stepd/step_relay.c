/*
 * step_relay.c - a thread in slurmstepd that brings the step's starts and
 * exits to srun through the node agent (paper Algorithm 8, termination
 * detection; doc/protocol.md, "The life of a launch", 7 and 9).
 *
 * slurmstepd sends RESPONSE_LAUNCH_TASKS and MESSAGE_TASK_EXIT to the address
 * that it has for srun.  The relay replaces that address by its own listener on
 * the loopback.  It reports the messages' contents to the agent and keeps the
 * bytes.  If the owner does not acknowledge in time, or the agent dies, it
 * sends the same bytes to srun's real address.  srun discards duplicates.
 * sattach's addresses are not changed.
 *
 * slurmstepd sends its last exits when the step's stdio has ended, and reports
 * the step's end to slurmctld right after.  By then srun must have the exits,
 * and before them the output (step_stdio.c).  So from switch_p_job_postfini on
 * the relay answers a message, for which slurmstepd waits, only when srun has
 * it.
 *
 * The thread starts with the first task.  Until then slurmstepd changes its user
 * and groups a dozen times, and glibc interrupts each thread for each of them.
 * An error before that goes to srun directly.
 *
 * It accepts only connections whose other end is a socket of this process.  It
 * logs no errors, because slurmstepd prints errors on the user's terminal, and
 * the step is not affected.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* accept4 */
#endif
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/slurm_protocol_util.h"

#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/base/thread.h"
#include "src/storm_common/local/local.h"
#include "src/storm_common/step_protocol.h"
#include "step_conn.h"
#include "step_message.h"
#include "step_peer.h"
#include "step_relay.h"
#include "step_stdio.h"

#define ASK_LIMIT 1 /* s */
#define ACK_LIMIT (10 * STORM_SEC)
#define BACKLOG 4096	/* the kernel's own limit, by default */
#define ACCEPT_MAX 1000 /* then other descriptors */

static struct {
	pthread_t thread;
	srun_info_t *srun; /* its address is to be replaced; NULL: no more */
	bool running;
	int agent; /* -1: gone, everything is forwarded */
	int listener, wake;
	int diag; /* of step_peer.h */
	uint32_t strangers;
	slurm_addr_t self, real;
	struct step_message *messages, **end;
	const stepd_step_rec_t *job;
	uint32_t unended; /* tasks that have started and whose end is to come */
	bool late;	  /* the thread's: answers wait */
	bool lingered;	  /* srun has all of the output */
	sem_t drained;	  /* slurmstepd need not wait here */
} relay = { .agent = -1, .listener = -1, .wake = -1, .diag = -1 };

static struct local_frame frame; /* the thread's, once it runs */

/* ---------------------------------------------------------------- to the agent --- */

static bool step_relay_say(uint8_t kind, uint32_t code, const uint32_t *ids,
			   uint32_t n)
{
	local_begin(&frame, LOCAL_REPORT);
	local_put8(&frame, kind);
	local_put32(&frame, code);
	local_put32(&frame, n);
	for (uint32_t i = 0; i < n; i++)
		local_put32(&frame, ids[i]);
	if (!local_send(relay.agent, &frame, -1))
		return true;
	info("storm: cannot report to the agent: %m");
	return false;
}

/* The start's pids, where the step has so many codes for this node.  slurmstepd names
 * all tasks of the node, in their order. */
static bool step_relay_report_pids(const struct step_message *m)
{
	uint32_t codes = STEP_PID_CODES / storm_max(relay.job->nnodes, 1), n;
	bool ok = true;

	if (m->n != relay.job->node_tasks)
		return true;
	for (uint32_t i = 0; ok && codes && i < m->n; i += n, codes--) {
		for (n = 1; i + n < m->n && n < LOCAL_IDS_MAX; n++)
			if (m->pids[i + n] != m->pids[i] + n)
				break;
		ok = step_relay_say(STEP_REPORT_PIDS, m->pids[i] - i,
				    m->ids + i, n);
	}
	return ok;
}

static bool step_relay_report(const struct step_message *m)
{
	if (m->pids && !step_relay_report_pids(m))
		return false;
	for (uint32_t i = 0; i < m->n; i += LOCAL_IDS_MAX) {
		uint32_t n = storm_min(m->n - i, LOCAL_IDS_MAX);

		if (!step_relay_say(m->kind, m->code, m->ids + i, n))
			return false;
	}
	return true;
}

/* Forward overdue messages, or all of them if the agent is gone. */
static void step_relay_forward_due(void)
{
	struct step_message **p = &relay.messages, *m;

	while ((m = *p)) {
		if (m->unacked && relay.agent >= 0 &&
		    m->deadline > storm_now()) {
			p = &m->next;
			continue;
		}
		*p = m->next;
		if (!*p)
			relay.end = p;
		debug("storm: %s %s", rpc_num2string(m->msg.msg_type),
		      m->unacked ? "goes to srun directly" :
				   "went through the agent");
		if (m->unacked) {
			if (relay.agent >= 0)
				info("storm: no acknowledgement in time, sent the message directly to srun");
			step_message_forward(m, &relay.real);
		}
		if (m->fd >= 0)
			step_message_answer(m);
		step_message_destroy(m);
	}
}

static void step_relay_agent_gone(const char *why)
{
	debug("storm: %s", why);
	close(relay.agent);
	relay.agent = -1;
}

/* ---------------------------------------------------------- from slurmstepd --- */

/* How long an acknowledgement may take: slurmstepd waits MessageTimeout for its
 * answer. */
static uint64_t step_relay_patience(void)
{
	return storm_min(slurm_conf.msg_timeout * STORM_SEC / 2, ACK_LIMIT);
}

static void step_relay_count(const struct step_message *m)
{
	if (m->kind == STEP_REPORT_STARTED && !m->code)
		relay.unended += m->n;
	else if (m->kind == STEP_REPORT_EXITED)
		relay.unended -= storm_min(relay.unended, m->n);
}

static void step_relay_take(int fd)
{
	struct step_message *m = step_message_read(fd);

	if (!m) {
		info("storm: cannot parse a message of slurmstepd");
		return;
	}
	*relay.end = m;
	relay.end = &m->next;
	step_relay_count(m);
	if (relay.late && !relay.lingered) {
		/* slurmstepd's stdio has ended before this message, and
		 * slurmstepd waits for the answer. */
		step_stdio_linger(relay.job);
		relay.lingered = true;
	}
	if (m->kind) {
		m->deadline = storm_now() + step_relay_patience();
		if (relay.agent >= 0 && !step_relay_report(m))
			step_relay_agent_gone("reports go to srun directly");
	} else {
		m->unacked = 1; /* forward it at once */
		m->deadline = 0;
	}
	/* last, because a credential for the answer takes MUNGE's time */
	if (!relay.late)
		step_message_answer(m);
}

/* A reset: a stranger's connection must leave nothing in this kernel. */
static void step_relay_refuse(int fd, const struct sockaddr_in *peer)
{
	const struct linger reset = { .l_onoff = 1 };

	if (!relay.strangers++)
		info("storm: a connection from port %u is not slurmstepd's, closed",
		     ntohs(peer->sin_port));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
}

/* All that wait.  Any user can connect, and slurmstepd's own connection must not
 * find the queue full: it would try again only after a second. */
static void step_relay_accept(void)
{
	for (int i = 0; i < ACCEPT_MAX; i++) {
		struct sockaddr_in peer;
		socklen_t len = sizeof(peer);
		int fd = accept4(relay.listener, (struct sockaddr *) &peer,
				 &len, SOCK_CLOEXEC);

		if (fd < 0)
			return;
		if (step_peer_is_self(relay.diag, fd, &peer,
				      (struct sockaddr_in *) &relay.self))
			step_relay_take(fd);
		else
			step_relay_refuse(fd, &peer);
	}
}

/* ------------------------------------------------------------- from the agent --- */

static void step_relay_from_agent(void)
{
	enum local_type type;
	uint8_t kind;
	uint32_t n;
	int rc = local_recv(relay.agent, &frame, &type);

	if (rc < 0 && errno == EAGAIN)
		return;
	if (rc <= 0) {
		step_relay_agent_gone("the agent is gone");
		return;
	}
	if (frame.fd >= 0)
		close(frame.fd);
	if (type == LOCAL_CLOSED) {
		step_relay_agent_gone("the session is over");
		return;
	}
	if (type != LOCAL_ACK)
		return;
	kind = local_get8(&frame);
	n = local_get32(&frame);
	for (uint32_t i = 0; i < n && !frame.bad; i++) {
		uint32_t id = local_get32(&frame);

		if (frame.bad)
			break;
		for (struct step_message *m = relay.messages; m; m = m->next)
			step_message_acked(m, kind, id);
	}
}

/* ------------------------------------------------------------------ the thread --- */

static int step_relay_timeout(void)
{
	uint64_t now = storm_now(), next = STORM_NEVER;

	for (struct step_message *m = relay.messages; m; m = m->next) {
		if (m->deadline < next)
			next = m->deadline;
	}
	if (next == STORM_NEVER)
		return -1;
	return next <= now ? 0 : (next - now) / STORM_MS + 1;
}

/* switch_p_job_postfini: no process of the step is left here. */
static void step_relay_ended(void)
{
	uint64_t n;

	if (read(relay.wake, &n, sizeof(n)) != sizeof(n))
		return;
	relay.late = true;
}

/*
 * Is there nothing that slurmstepd must wait for in switch_p_job_postfini?  It
 * reports the last exits afterwards, and waits for the answer to those.  If it
 * waited here for what came before, each node would wait until all have
 * started.
 */
static bool step_relay_drained(void)
{
	return relay.late && (relay.unended || !relay.messages);
}

/* Ends with slurmstepd. */
static void *step_relay_thread(void *arg)
{
	bool told = false;

	(void) arg;
	pthread_setname_np(pthread_self(), "storm_relay");
	for (;;) {
		struct pollfd p[3] = {
			{ .fd = relay.listener, .events = POLLIN },
			{ .fd = relay.agent, .events = POLLIN },
			{ .fd = relay.wake, .events = POLLIN },
		};

		step_relay_forward_due();
		if (!told && step_relay_drained()) {
			told = true;
			sem_post(&relay.drained);
		}
		if (poll(p, 3, step_relay_timeout()) < 0) {
			if (errno != EINTR)
				usleep(100000); /* memory is short */
			continue;
		}
		if (p[1].revents)
			step_relay_from_agent();
		if (p[0].revents)
			step_relay_accept();
		if (p[2].revents)
			step_relay_ended();
	}
	return NULL;
}

/* ---------------------------------------------------------------- start and end --- */

/* Ask the agent: did STORM launch this step?  One that did has just passed it on, and
 * answers at once.  All steps ask, and none is to wait longer for one that is stopped. */
static bool step_relay_ask_agent(const stepd_step_rec_t *job)
{
	const struct timeval limit = { .tv_sec = ASK_LIMIT };
	enum local_type type;
	uint64_t session = 0;

	if (setsockopt(relay.agent, SOL_SOCKET, SO_RCVTIMEO, &limit,
		       sizeof(limit)))
		return false;
	local_begin(&frame, LOCAL_STEP);
	local_put32(&frame, job->step_id.job_id);
	local_put32(&frame, job->step_id.step_id);
	local_put32(&frame, job->step_id.step_het_comp);
	local_put32(&frame, job->uid);
	local_put32(&frame, job->node_tasks);
	local_put32(&frame, job->nodeid);
	if (local_send(relay.agent, &frame, -1) ||
	    local_recv(relay.agent, &frame, &type) != 1 ||
	    type != LOCAL_STEP_IS)
		return false;
	session = local_get64(&frame);
	return local_end(&frame) && session;
}

static bool step_relay_listen(void)
{
	struct sockaddr_in *in = (struct sockaddr_in *) &relay.self;
	socklen_t len = sizeof(*in);

	memset(&relay.self, 0, sizeof(relay.self));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	relay.listener =
		socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return relay.listener >= 0 &&
	       !bind(relay.listener, (struct sockaddr *) in, len) &&
	       !listen(relay.listener, BACKLOG) &&
	       !getsockname(relay.listener, (struct sockaddr *) in, &len) &&
	       (relay.diag = step_peer_open(in)) >= 0;
}

static void step_relay_close(void)
{
	int *fds[] = { &relay.agent, &relay.listener, &relay.wake,
		       &relay.diag };

	for (int i = 0; i < 4; i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

static void step_relay_no_relay(void)
{
	info("storm: no relay, messages go directly to srun: %m");
	step_relay_close();
}

/* In slurmstepd, which has forked a task, or something else before it. */
static void step_relay_forked(void)
{
	srun_info_t *srun = relay.srun;

	if (!srun)
		return;
	relay.srun = NULL;
	errno = storm_thread_start(&relay.thread, step_relay_thread, NULL);
	if (errno) {
		step_relay_no_relay();
		return;
	}
	relay.running = true;
	relay.real = srun->resp_addr;
	srun->resp_addr = relay.self;
	debug("storm: starts and exits of %ps go through the agent",
	      &relay.job->step_id);
}

/* In what it has forked, which may fork, too. */
static void step_relay_in_child(void)
{
	relay.srun = NULL;
}

void step_relay_start(stepd_step_rec_t *job)
{
	srun_info_t *srun = list_peek(job->sruns);

	if (!srun || list_count(job->sruns) != 1 || !step_conn_plain() ||
	    slurm_addr_is_unspec(&srun->resp_addr))
		return;
	relay.agent = local_connect(NULL, job->node_name, NULL);
	if (relay.agent < 0) {
		debug("storm: no agent here: %m");
		return;
	}
	if (!step_relay_ask_agent(job)) {
		debug("storm: %ps was not launched by storm", &job->step_id);
		step_relay_close();
		return;
	}
	relay.end = &relay.messages;
	relay.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sem_init(&relay.drained, 0, 0);
	relay.job = job;
	relay.srun = srun;
	if (relay.wake >= 0 && step_relay_listen() &&
	    !(errno = pthread_atfork(NULL, step_relay_forked,
				     step_relay_in_child)))
		return;
	relay.srun = NULL;
	step_relay_no_relay();
}

void step_relay_drain(void)
{
	const uint64_t one = 1;

	if (!relay.running)
		return;
	if (write(relay.wake, &one, sizeof(one)) != sizeof(one)) {
		info("storm: eventfd: %m");
		return;
	}
	while (sem_wait(&relay.drained) && errno == EINTR)
		;
}
