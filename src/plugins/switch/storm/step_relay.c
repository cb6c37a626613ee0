/*
 * step_relay.c - a thread in slurmstepd that brings the step's starts and
 * exits to srun through the node agent (paper Algorithm 8, termination
 * detection; architecture: Flows, Launch 4).
 *
 * slurmstepd sends RESPONSE_LAUNCH_TASKS and MESSAGE_TASK_EXIT to the address
 * that it has for srun.  We point that address at a listener of our own on the
 * loopback, give the agent what the messages say, and keep the bytes: if the
 * owner's acknowledgement does not come in time, or the agent goes away, the
 * very same bytes are written to srun's real address, as slurmstepd would have
 * done.  srun drops what it hears twice.  sattach's addresses are not touched.
 *
 * slurmstepd sends its last exits when the step's stdio is done, and tells
 * slurmctld of the step's end right after; srun must have heard of the exits
 * by then, and have read the output before (step_stdio.c).  So from
 * switch_p_job_postfini on a message is answered, and slurmstepd waits for the
 * answer, only once srun has it.
 *
 * The messages' credentials are for srun's user alone, so they cannot be
 * checked here, and need not be: a connection is accepted only if its other
 * end is a socket of this very process.  Messages here are no errors: an error
 * of slurmstepd goes to the terminal of the user, for whom nothing is wrong.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE		/* accept4 */
#endif
#include "config.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/forward.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/pack.h"
#include "src/common/read_config.h"
#include "src/common/slurm_auth.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/slurm_protocol_pack.h"
#include "src/common/slurm_protocol_util.h"
#include "src/common/xmalloc.h"

#include "local.h"
#include "src/common/step_protocol.h"
#include "src/libstorm/clock.h"
#include "src/libstorm/minmax.h"
#include "step_relay.h"
#include "step_stdio.h"

#define ACK_LIMIT (10 * STORM_SEC)
#define PEER_LIMIT 5		/* s, our own process writes at once */
#define FORWARD_TRIES 5
#define MESSAGE_MAX (64 << 20)

/* A message on its way. */
struct record {
	struct record *next;
	char *bytes;		/* with Slurm's length in front */
	size_t len;
	uint8_t kind;
	uint32_t code, n, unacked;
	uint32_t *ids;		/* NO_VAL once acknowledged */
	uint64_t deadline;
	slurm_msg_t msg;	/* what an answer needs of it */
	int fd;			/* slurmstepd waits there, or -1 */
};

static struct {
	pthread_t thread;
	bool running;
	int agent;		/* -1: gone, everything is forwarded */
	int listener, wake;
	slurm_addr_t self, real;
	struct record *records, **end;
	const stepd_step_rec_t *job;
	bool late;		/* the thread's: answers wait */
	bool lingered;		/* and srun has all of the output */
	sem_t drained;		/* what came before has arrived */
} r = { .agent = -1, .listener = -1, .wake = -1 };

static struct local_frame frame;	/* the thread's, once it runs */

/* ---------------------------------------------------------------- to the agent --- */

static bool _report(const struct record *m)
{
	for (uint32_t i = 0; i < m->n; i += LOCAL_IDS_MAX) {
		uint32_t n = m->n - i;

		if (n > LOCAL_IDS_MAX)
			n = LOCAL_IDS_MAX;
		local_begin(&frame, LOCAL_REPORT);
		local_put8(&frame, m->kind);
		local_put32(&frame, m->code);
		local_put32(&frame, n);
		for (uint32_t j = 0; j < n; j++)
			local_put32(&frame, m->ids[i + j]);
		if (local_send(r.agent, &frame, -1)) {
			info("storm: the agent takes no report: %m");
			return false;
		}
	}
	return true;
}

/* slurmstepd has handed its message over. */
static void _answer(struct record *m)
{
	m->msg.conn_fd = m->fd;
	m->msg.auth_uid = getuid();
	m->msg.auth_uid_set = true;
	if (slurm_send_rc_msg(&m->msg, SLURM_SUCCESS) < 0)
		debug("storm: no answer to slurmstepd: %m");
	close(m->fd);
	m->fd = -1;
}

static void _free(struct record *m)
{
	if (m->fd >= 0)
		close(m->fd);
	xfree(m->bytes);
	xfree(m->ids);
	xfree(m);
}

/* ----------------------------------------------------------- to srun directly --- */

static bool _write_all(int fd, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = send(fd, buf, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		buf += n;
		len -= n;
	}
	return true;
}

static bool _read_all(int fd, void *buf, size_t len)
{
	while (len) {
		ssize_t n = recv(fd, buf, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		buf = (char *) buf + n;
		len -= n;
	}
	return true;
}

static void _limit(int fd, int seconds)
{
	struct timeval t = { .tv_sec = seconds };

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

/* The whole message with its length in front, or NULL. */
static char *_read_message(int fd, size_t *len)
{
	uint32_t n;
	char *buf;

	if (!_read_all(fd, &n, sizeof(n)) || ntohl(n) > MESSAGE_MAX)
		return NULL;
	*len = sizeof(n) + ntohl(n);
	buf = xmalloc(*len);
	memcpy(buf, &n, sizeof(n));
	if (!_read_all(fd, buf + sizeof(n), ntohl(n)))
		xfree(buf);
	return buf;
}

/* What slurmstepd would have done.  srun's answer only says that it is
 * there. */
static bool _forward_once(const struct record *m)
{
	char *answer = NULL;
	size_t len;
	int fd = slurm_open_msg_conn(&r.real);

	if (fd < 0)
		return false;
	_limit(fd, slurm_conf.msg_timeout);
	if (_write_all(fd, m->bytes, m->len))
		answer = _read_message(fd, &len);
	close(fd);
	xfree(answer);
	return true;
}

static void _forward(const struct record *m)
{
	useconds_t delay = 100000;

	for (int i = 0; i < FORWARD_TRIES; i++) {
		if (_forward_once(m))
			return;
		/* a refusal is final: srun has gone */
		if (errno == ECONNREFUSED)
			break;
		usleep(delay);
		delay *= 2;
	}
	info("storm: srun cannot be reached at %pA: %m", &r.real);
}

/* Out with what is overdue, or with everything once the agent is gone. */
static void _forward_due(void)
{
	struct record **p = &r.records, *m;

	while ((m = *p)) {
		if (m->unacked && r.agent >= 0 && m->deadline > storm_now()) {
			p = &m->next;
			continue;
		}
		*p = m->next;
		if (!*p)
			r.end = p;
		debug("storm: %s %s", rpc_num2string(m->msg.msg_type),
		      m->unacked ? "goes to srun directly" :
		      "went through the agent");
		if (m->unacked) {
			if (r.agent >= 0)
				info("storm: no acknowledgement in time, told srun directly");
			_forward(m);
		}
		if (m->fd >= 0)
			_answer(m);
		_free(m);
	}
}

static void _agent_gone(const char *why)
{
	debug("storm: %s", why);
	close(r.agent);
	r.agent = -1;
}

/* ---------------------------------------------------------- from slurmstepd --- */

/* The inode of the local socket whose ends are these; 0: none. */
static unsigned long _inode_of(const struct sockaddr_in *from,
			       const struct sockaddr_in *to)
{
	FILE *f = fopen("/proc/self/net/tcp", "re");
	unsigned long inode = 0;
	char line[512];

	if (!f)
		return 0;
	while (!inode && fgets(line, sizeof(line), f)) {
		unsigned int la, lp, ra, rp;
		unsigned long i;

		if (sscanf(line,
			   " %*u: %8X:%4X %8X:%4X %*X %*X:%*X %*X:%*X %*X %*u %*u %lu",
			   &la, &lp, &ra, &rp, &i) == 5 &&
		    la == from->sin_addr.s_addr && lp == ntohs(from->sin_port) &&
		    ra == to->sin_addr.s_addr && rp == ntohs(to->sin_port))
			inode = i;
	}
	fclose(f);
	return inode;
}

/* A descriptor of this process is that socket. */
static bool _is_ours(unsigned long inode)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;
	char want[64], is[64];
	bool found = false;

	if (!dir)
		return false;
	snprintf(want, sizeof(want), "socket:[%lu]", inode);
	while (!found && (d = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), d->d_name, is,
				       sizeof(is) - 1);

		if (n <= 0)
			continue;
		is[n] = '\0';
		found = !strcmp(is, want);
	}
	closedir(dir);
	return found;
}

static bool _from_ourselves(const struct sockaddr_in *peer)
{
	unsigned long inode = _inode_of(peer,
					(struct sockaddr_in *) &r.self);

	return inode && _is_ours(inode);
}

static uint32_t *_copy_ids(const uint32_t *ids, uint32_t n)
{
	uint32_t *copy = xcalloc(n, sizeof(*copy));

	if (n)		/* else both are NULL */
		memcpy(copy, ids, n * sizeof(*copy));
	return copy;
}

/* What the message says goes into m; a kind of 0: not for storm. */
static void _interpret(struct record *m, slurm_msg_t *msg)
{
	launch_tasks_response_msg_t *start;
	task_exit_msg_t *exited;

	switch (msg->msg_type) {
	case RESPONSE_LAUNCH_TASKS:
		start = msg->data;
		m->n = start->task_ids ? start->count_of_pids : 0;
		m->kind = m->n ? STEP_REPORT_STARTED : 0;
		m->code = start->return_code;
		m->ids = _copy_ids(start->task_ids, m->n);
		break;
	case MESSAGE_TASK_EXIT:
		exited = msg->data;
		m->n = exited->task_id_list ? exited->num_tasks : 0;
		m->kind = m->n ? STEP_REPORT_EXITED : 0;
		m->code = exited->return_code;
		m->ids = _copy_ids(exited->task_id_list, m->n);
		break;
	}
	m->unacked = m->n;
}

/* Unpack without a check of the credential, which is not for us. */
static bool _parse(struct record *m, slurm_msg_t *msg)
{
	/* the buffer's owner is pack.c from here on */
	char *copy = xmalloc(m->len - sizeof(uint32_t));
	buf_t *buf;
	header_t header;
	void *cred;
	bool ok = false;

	memcpy(copy, m->bytes + sizeof(uint32_t), m->len - sizeof(uint32_t));
	buf = create_buf(copy, m->len - sizeof(uint32_t));
	memset(&header, 0, sizeof(header));
	if (unpack_header(&header, buf))
		goto out;
	cred = auth_g_unpack(buf, header.version);
	if (!cred)
		goto out;
	msg->auth_index = slurm_auth_index(cred);
	auth_g_destroy(cred);
	msg->protocol_version = header.version;
	msg->msg_type = header.msg_type;
	msg->flags = header.flags;
	if (unpack_msg(msg, buf))
		goto out;
	_interpret(m, msg);
	slurm_free_msg_data(msg->msg_type, msg->data);
	msg->data = NULL;
	ok = true;
out:
	FREE_NULL_LIST(header.ret_list);
	destroy_forward(&header.forward);
	free_buf(buf);
	return ok;
}

/* How long an acknowledgement may take: slurmstepd itself waits for an answer
 * MessageTimeout long. */
static uint64_t _patience(void)
{
	return storm_min(slurm_conf.msg_timeout * STORM_SEC / 2, ACK_LIMIT);
}

static void _take(int fd)
{
	struct record *m = xmalloc(sizeof(*m));

	slurm_msg_t_init(&m->msg);
	m->fd = fd;
	_limit(fd, PEER_LIMIT);
	m->bytes = _read_message(fd, &m->len);
	if (!m->bytes || !_parse(m, &m->msg)) {
		info("storm: a message of our own is not understood");
		_free(m);
		return;
	}
	*r.end = m;
	r.end = &m->next;
	if (!r.late) {
		_answer(m);
	} else if (!r.lingered) {
		/* slurmstepd's stdio has ended before this message, and it
		 * does nothing until we answer */
		step_stdio_linger(r.job);
		r.lingered = true;
	}
	if (!m->kind) {
		m->unacked = 1;		/* Slurm's own way, at once */
		m->deadline = 0;
		return;
	}
	m->deadline = storm_now() + _patience();
	if (r.agent >= 0 && !_report(m))
		_agent_gone("reports go to srun directly");
}

static void _accept(void)
{
	struct sockaddr_in peer;
	socklen_t len = sizeof(peer);
	int fd = accept4(r.listener, (struct sockaddr *) &peer, &len,
			 SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (_from_ourselves(&peer)) {
		_take(fd);
		return;
	}
	info("storm: a connection from port %u is not slurmstepd's, closed",
	     ntohs(peer.sin_port));
	close(fd);
}

/* ------------------------------------------------------------- from the agent --- */

static void _acked(uint8_t kind, uint32_t id)
{
	for (struct record *m = r.records; m; m = m->next) {
		if (m->kind != kind)
			continue;
		for (uint32_t i = 0; i < m->n; i++) {
			if (m->ids[i] == id) {
				m->ids[i] = NO_VAL;
				m->unacked--;
			}
		}
	}
}

static void _from_agent(void)
{
	enum local_type type;
	uint8_t kind;
	uint32_t n;
	int rc = local_recv(r.agent, &frame, &type);

	if (rc < 0 && errno == EAGAIN)
		return;
	if (rc <= 0) {
		_agent_gone("the agent is gone");
		return;
	}
	if (frame.fd >= 0)
		close(frame.fd);
	if (type == LOCAL_CLOSED) {
		_agent_gone("the session is over");
		return;
	}
	if (type != LOCAL_ACK)
		return;
	kind = local_get8(&frame);
	n = local_get32(&frame);
	for (uint32_t i = 0; i < n && !frame.bad; i++) {
		uint32_t id = local_get32(&frame);

		if (!frame.bad)
			_acked(kind, id);
	}
}

/* ------------------------------------------------------------------ the thread --- */

static int _timeout(void)
{
	uint64_t now = storm_now(), next = STORM_NEVER;

	for (struct record *m = r.records; m; m = m->next) {
		if (m->deadline < next)
			next = m->deadline;
	}
	if (next == STORM_NEVER)
		return -1;
	return next <= now ? 0 : (next - now) / STORM_MS + 1;
}

/* switch_p_job_postfini: no process of the step is left here. */
static void _ended(void)
{
	uint64_t n;

	if (read(r.wake, &n, sizeof(n)) != sizeof(n))
		return;
	r.late = true;
	local_begin(&frame, LOCAL_ENDED);
	if (r.agent >= 0 && local_send(r.agent, &frame, -1))
		_agent_gone("the agent is gone");
}

/* Ends with slurmstepd. */
static void *_relay(void *arg)
{
	bool told = false;

	(void) arg;
	for (;;) {
		struct pollfd p[3] = {
			{ .fd = r.listener, .events = POLLIN },
			{ .fd = r.agent, .events = POLLIN },
			{ .fd = r.wake, .events = POLLIN },
		};

		_forward_due();
		if (r.late && !told && !r.records) {
			told = true;
			sem_post(&r.drained);
		}
		if (poll(p, 3, _timeout()) < 0) {
			if (errno != EINTR)
				usleep(100000);	/* memory is short */
			continue;
		}
		if (p[1].revents)
			_from_agent();
		if (p[0].revents)
			_accept();
		if (p[2].revents)
			_ended();
	}
	return NULL;
}

/* ---------------------------------------------------------------- start and end --- */

/* Did storm launch this step? */
static bool _ask_agent(const stepd_step_rec_t *job)
{
	enum local_type type;
	uint64_t session = 0;

	local_begin(&frame, LOCAL_STEP);
	local_put32(&frame, job->step_id.job_id);
	local_put32(&frame, job->step_id.step_id);
	local_put32(&frame, job->step_id.step_het_comp);
	local_put32(&frame, job->uid);
	local_put32(&frame, job->node_tasks);
	if (local_send(r.agent, &frame, -1) ||
	    local_recv(r.agent, &frame, &type) != 1 || type != LOCAL_STEP_IS)
		return false;
	session = local_get64(&frame);
	return local_end(&frame) && session;
}

static bool _listen(void)
{
	struct sockaddr_in *in = (struct sockaddr_in *) &r.self;
	socklen_t len = sizeof(*in);

	memset(&r.self, 0, sizeof(r.self));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	r.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC |
			    SOCK_NONBLOCK, 0);
	return r.listener >= 0 &&
		!bind(r.listener, (struct sockaddr *) in, len) &&
		!listen(r.listener, 16) &&
		!getsockname(r.listener, (struct sockaddr *) in, &len);
}

static void _close(void)
{
	int *fds[] = { &r.agent, &r.listener, &r.wake };

	for (int i = 0; i < 3; i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

static bool _start_thread(void)
{
	sigset_t all, old;
	int rc;

	/* signals are slurmstepd's */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&r.thread, NULL, _relay, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return !rc;
}

void step_relay_start(stepd_step_rec_t *job)
{
	srun_info_t *srun = list_peek(job->sruns);

	if (!srun || list_count(job->sruns) != 1 ||
	    slurm_addr_is_unspec(&srun->resp_addr))
		return;
	r.agent = local_connect(NULL, job->node_name, NULL);
	if (r.agent < 0) {
		debug("storm: no agent here: %m");
		return;
	}
	if (!_ask_agent(job)) {
		debug("storm: %ps was not launched by storm", &job->step_id);
		_close();
		return;
	}
	r.end = &r.records;
	r.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sem_init(&r.drained, 0, 0);
	if (r.wake < 0 || !_listen() || !_start_thread()) {
		info("storm: no relay, srun is told directly: %m");
		_close();
		return;
	}
	r.running = true;
	r.job = job;
	r.real = srun->resp_addr;
	srun->resp_addr = r.self;
	debug("storm: starts and exits of %ps go through the agent",
	      &job->step_id);
}

void step_relay_drain(void)
{
	const uint64_t one = 1;

	if (!r.running)
		return;
	if (write(r.wake, &one, sizeof(one)) != sizeof(one)) {
		info("storm: eventfd: %m");
		return;
	}
	while (sem_wait(&r.drained) && errno == EINTR)
		;
}
