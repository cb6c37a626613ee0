/*
 * strober_watch.c - a thread of slurmctld that runs the strober, watches it by
 * pidfd and starts it again when it dies.  The thread copies the strober's
 * messages to slurmctld's log and sends a sign of life ten times a second
 * (doc/gang-scheduling.md, The strober).
 *
 * It takes none of slurmctld's locks.  So the pulse stops when the process
 * does, and not when a lock is held for long.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2 */
#endif
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "src/storm_common/child_backoff.h"
#include "src/storm_common/child_log.h"
#include "src/storm_common/child_spawn.h"
#include "src/libstorm/base/clock.h"
#include "strober_watch.h"

#define LIVED_WELL (60 * STORM_SEC)	/* resets the back-off */
#define STOP_LIMIT 2000			/* ms */
#define MUTE (3 * STROBER_REPORT_EVERY) /* no strober that strobes */
#define STROBER "storm_strober"
#define STATE_FILE "storm_gang"

struct bytes {
	char *p;
	size_t len;
};

/* What this thread and its callers exchange, under the lock. */
static struct {
	pthread_mutex_t lock;
	struct bytes names, map;
	bool new_names, new_map;
	uint64_t lead;
	bool lead_given, new_lead;
	struct strober_given *given; /* since strober_watch_given() */
	uint32_t ngiven;
	struct bytes missed;	/* struct strober_missed */
	struct bytes outside;	/* struct strober_outside */
	uint32_t outside_nodes; /* of the domain that it is about */
	struct bytes held;	/* struct strober_held and its nodes */
	uint64_t heard_at;	/* ns; the last STROBER_OUTSIDE */
	int64_t heard;		/* and by the wall clock */
} box = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The thread's own. */
static struct {
	pthread_t thread;
	bool running;
	int wake; /* eventfd: look into the box, or end */
	bool end;
	bool retry; /* a strober that refused storm.conf may start again */
	int log, sock, pidfd;
	pid_t pid;
	char *state, *conf; /* copies: a reconfigure may change
					   slurm_conf, and there is no lock */
	struct child_log says;
	struct bytes out; /* frames to write, from `at` on */
	size_t at;
	char *in; /* a frame, `have` bytes so far */
	size_t have;
	uint64_t started, pulse_at, start_at;
	struct child_backoff backoff;
} w = { .wake = -1, .log = -1, .sock = -1, .pidfd = -1 };

/* The strober may take MUTE from now on until it reports. */
static void strober_watch_expect(void)
{
	box.heard_at = storm_now();
	box.heard = time(NULL);
	box.outside_nodes = 0;
}

/* -------------------------------------------------------- start and end --- */

static int strober_watch_spawn_with(int sock, int log)
{
	char *argv[] = { STROBER, "--state", w.state, NULL };
	const struct child_fds fds = { .in = sock, .log = log };
	int rc = child_spawn(STORM_STROBER_PATH, argv, w.conf, &fds, &w.pid);

	if (rc)
		w.pid = 0;
	return rc;
}

/* Locked.  What is known of held jobs is void. */
static void strober_watch_forget_held(void)
{
	xfree(box.held.p);
	box.held.len = 0;
}

/* A new strober needs everything again. */
static void strober_watch_all_is_new(void)
{
	slurm_mutex_lock(&box.lock);
	box.new_names = box.names.p;
	box.new_map = box.map.p;
	box.new_lead = box.lead_given;
	slurm_mutex_unlock(&box.lock);
}

static void strober_watch_spawn(uint64_t now)
{
	int pair[2], log[2];

	w.start_at = now + w.backoff.next * STORM_MS;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		error("storm: cannot start the strober: socketpair: %m");
		return;
	}
	if (pipe2(log, O_CLOEXEC)) {
		error("storm: cannot start the strober: pipe: %m");
		close(pair[0]);
		close(pair[1]);
		return;
	}
	if (!strober_watch_spawn_with(pair[1], log[1])) {
		w.sock = pair[0];
		w.log = log[0];
		w.pidfd = pidfd_open(w.pid, 0);
		w.started = now;
		fcntl(w.sock, F_SETFL, O_NONBLOCK);
		fcntl(w.log, F_SETFL, O_NONBLOCK);
		strober_watch_all_is_new();
	} else {
		close(pair[0]);
		close(log[0]);
	}
	close(pair[1]);
	close(log[1]);
}

static void strober_watch_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* End the strober by closing its socket, or by SIGKILL after STOP_LIMIT.  Wait
 * for it, and log how it ended. */
static void strober_watch_bury(void)
{
	struct pollfd p = { .fd = w.pidfd, .events = POLLIN };
	siginfo_t si = { 0 };
	bool refused;

	strober_watch_close(&w.sock);
	/* it is a child: nothing reuses its pid before waitid() */
	if (p.fd < 0 || !poll(&p, 1, STOP_LIMIT))
		kill(w.pid, SIGKILL);
	if (waitid(P_PID, w.pid, &si, WEXITED))
		si.si_code = CLD_EXITED;
	child_log_drain(&w.says, w.log, STROBER);
	if (!w.end && si.si_code != CLD_EXITED)
		error("storm: the strober (pid %d) was killed by signal %d",
		      w.pid, si.si_status);
	else if (!w.end)
		error("storm: the strober (pid %d) ended with status %d", w.pid,
		      si.si_status);
	refused = si.si_code == CLD_EXITED && si.si_status == STROBER_EXIT_CONF;
	w.start_at = storm_now() +
		     child_backoff(&w.backoff, refused,
				   storm_now() - w.started > LIVED_WELL) *
			     STORM_MS;
	strober_watch_close(&w.log);
	strober_watch_close(&w.pidfd);
	w.pid = 0;
	slurm_mutex_lock(&box.lock);
	strober_watch_forget_held();
	slurm_mutex_unlock(&box.lock);
	w.have = w.says.len = 0;
	xfree(w.in);
	xfree(w.out.p);
	w.out.len = w.at = 0;
}

/* ------------------------------------------------------- to the strober --- */

static void strober_watch_append(uint32_t verb, const void *body, size_t len)
{
	struct strober_frame f = { .verb = verb, .len = len };

	xrealloc(w.out.p, w.out.len + sizeof(f) + len);
	memcpy(w.out.p + w.out.len, &f, sizeof(f));
	if (len)
		memcpy(w.out.p + w.out.len + sizeof(f), body, len);
	w.out.len += sizeof(f) + len;
}

/* Append the next frames, once all earlier ones are written. */
static void strober_watch_refill(uint64_t now)
{
	slurm_mutex_lock(&box.lock);
	if (box.new_names)
		strober_watch_append(STROBER_NODES, box.names.p, box.names.len);
	if (box.new_map)
		strober_watch_append(STROBER_MAP, box.map.p, box.map.len);
	if (box.new_lead)
		strober_watch_append(STROBER_LEAD, &box.lead, sizeof(box.lead));
	box.new_names = box.new_map = box.new_lead = false;
	slurm_mutex_unlock(&box.lock);
	if (now >= w.pulse_at) {
		strober_watch_append(STROBER_PULSE, &now, sizeof(now));
		w.pulse_at = now + STROBER_PULSE_EVERY;
	}
}

/* False: the strober has closed the socket. */
static bool strober_watch_write(uint64_t now)
{
	while (true) {
		ssize_t n;

		if (w.at == w.out.len) {
			xfree(w.out.p);
			w.at = w.out.len = 0;
			strober_watch_refill(now);
		}
		if (w.at == w.out.len)
			return true;
		n = send(w.sock, w.out.p + w.at, w.out.len - w.at,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		w.at += n;
	}
}

/* ----------------------------------------------------- from the strober --- */

/* Merge two ascending lists: a job's new account replaces its old one. */
static void strober_watch_merge(const struct strober_given *new, uint32_t n)
{
	struct strober_given *all = xcalloc(n + box.ngiven + 1, sizeof(*all));
	uint32_t count = 0, i = 0, k = 0;

	while (i < n || k < box.ngiven) {
		if (i < n && k < box.ngiven &&
		    new[i].job_id == box.given[k].job_id)
			k++;
		if (i < n &&
		    (k == box.ngiven || new[i].job_id < box.given[k].job_id))
			all[count++] = new[i++];
		else
			all[count++] = box.given[k++];
	}
	xfree(box.given);
	box.given = all;
	box.ngiven = count;
}

static void strober_watch_take_report(const char *body, size_t len)
{
	struct strober_given *given;
	struct strober_report st;

	if (len < sizeof(st))
		return;
	memcpy(&st, body, sizeof(st));
	len -= sizeof(st);
	if (len != (size_t) st.njobs * sizeof(*given))
		return;
	given = xmalloc(len + 1);
	memcpy(given, body + sizeof(st), len);
	slurm_mutex_lock(&box.lock);
	strober_watch_merge(given, st.njobs);
	slurm_mutex_unlock(&box.lock);
	xfree(given);
}

static void strober_watch_take_missed(const char *body, size_t len)
{
	if (len % sizeof(struct strober_missed))
		return;
	slurm_mutex_lock(&box.lock);
	xfree(box.missed.p);
	box.missed.p = xmalloc(len + 1);
	memcpy(box.missed.p, body, len);
	box.missed.len = len;
	slurm_mutex_unlock(&box.lock);
}

static void strober_watch_take_outside(const char *body, size_t len)
{
	uint32_t head[2];

	if (len < sizeof(head) ||
	    (len - sizeof(head)) % sizeof(struct strober_outside))
		return;
	memcpy(head, body, sizeof(head));
	len -= sizeof(head);
	slurm_mutex_lock(&box.lock);
	xfree(box.outside.p);
	box.outside.p = xmalloc(len + 1);
	memcpy(box.outside.p, body + sizeof(head), len);
	box.outside.len = len;
	box.outside_nodes = head[0];
	box.heard_at = storm_now();
	box.heard = time(NULL);
	slurm_mutex_unlock(&box.lock);
}

static void strober_watch_take_held(const char *body, size_t len)
{
	struct strober_held h;

	if (len < sizeof(h))
		return;
	memcpy(&h, body, sizeof(h));
	if (len - sizeof(h) != (size_t) h.loose * sizeof(uint32_t))
		return;
	slurm_mutex_lock(&box.lock);
	strober_watch_forget_held();
	box.held.p = xmalloc(len);
	memcpy(box.held.p, body, len);
	box.held.len = len;
	slurm_mutex_unlock(&box.lock);
}

static void strober_watch_take(const struct strober_frame *f, const char *body)
{
	if (f->verb == STROBER_REPORT)
		strober_watch_take_report(body, f->len);
	else if (f->verb == STROBER_MISSED)
		strober_watch_take_missed(body, f->len);
	else if (f->verb == STROBER_OUTSIDE)
		strober_watch_take_outside(body, f->len);
	else if (f->verb == STROBER_HELD)
		strober_watch_take_held(body, f->len);
}

/* False: the strober has closed the socket, or sent an invalid frame. */
static bool strober_watch_read(void)
{
	struct strober_frame f;
	ssize_t n;

	while (true) {
		size_t want = sizeof(f);

		if (w.have >= sizeof(f)) {
			memcpy(&f, w.in, sizeof(f));
			if (f.len > STROBER_BODY_MAX)
				return false;
			want += f.len;
		}
		xrealloc(w.in, want);
		if (w.have == want && w.have >= sizeof(f)) {
			strober_watch_take(&f, w.in + sizeof(f));
			w.have = 0;
			continue;
		}
		n = recv(w.sock, w.in + w.have, want - w.have, MSG_DONTWAIT);
		if (n <= 0)
			return n < 0 && (errno == EAGAIN || errno == EINTR);
		w.have += n;
	}
}

/* ----------------------------------------------------------- the thread --- */

/* How long to poll, in ms; -1: without limit.  While a strober that is stopped
 * does not read, the next pulse also waits. */
static int strober_watch_wait_time(uint64_t now)
{
	uint64_t next = w.pid ? w.pulse_at : w.start_at;

	if (w.out.len)
		return -1;
	return next > now ? (int) ((next - now) / STORM_MS) + 1 : 0;
}

static void strober_watch_turn(void)
{
	struct pollfd p[4] = {
		{ .fd = w.wake, .events = POLLIN },
		{ .fd = w.log, .events = POLLIN },
		{ .fd = w.pidfd, .events = POLLIN },
		{ .fd = w.sock, .events = POLLIN },
	};
	uint64_t now, n;

	if (w.out.len)
		p[3].events |= POLLOUT;
	if (poll(p, 4, strober_watch_wait_time(storm_now())) < 0 &&
	    errno != EINTR)
		error("storm: poll: %m");
	if (p[0].revents && read(w.wake, &n, sizeof(n)) < 0)
		debug("storm: eventfd: %m");
	if (w.log >= 0)
		child_log_drain(&w.says, w.log, STROBER);
	now = storm_now();
	if (w.pid && (p[2].revents || !strober_watch_read() ||
		      !strober_watch_write(now)))
		strober_watch_bury();
	if (__atomic_exchange_n(&w.retry, false, __ATOMIC_ACQ_REL) && !w.pid) {
		w.start_at = 0;
		w.backoff.next = CHILD_BACKOFF_MIN;
	}
	if (!w.pid && !w.end && now >= w.start_at)
		strober_watch_spawn(now);
}

static void *strober_watch_thread(void *arg)
{
	(void) arg;
	while (!__atomic_load_n(&w.end, __ATOMIC_ACQUIRE))
		strober_watch_turn();
	if (w.pid)
		strober_watch_bury();
	return NULL;
}

static void strober_watch_wake(void)
{
	const uint64_t one = 1;

	if (write(w.wake, &one, sizeof(one)) != sizeof(one))
		error("storm: eventfd: %m");
}

int strober_watch_start(void)
{
	int rc;

	w.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w.wake < 0) {
		error("storm: cannot start the strober: eventfd: %m");
		return SLURM_ERROR;
	}
	w.state = xstrdup_printf("%s/%s", slurm_conf.state_save_location,
				 STATE_FILE);
	w.conf = xstrdup(slurm_conf.slurm_conf);
	w.end = false;
	w.backoff.next = CHILD_BACKOFF_MIN;
	strober_watch_expect();
	w.start_at = 0;
	rc = pthread_create(&w.thread, NULL, strober_watch_thread, NULL);
	if (rc) {
		error("storm: cannot start the strober's thread: %s",
		      strerror(rc));
		strober_watch_close(&w.wake);
		xfree(w.state);
		xfree(w.conf);
		return SLURM_ERROR;
	}
	w.running = true;
	return SLURM_SUCCESS;
}

void strober_watch_retry(void)
{
	if (!w.running)
		return;
	__atomic_store_n(&w.retry, true, __ATOMIC_RELEASE);
	strober_watch_wake();
}

void strober_watch_stop(void)
{
	if (!w.running)
		return;
	__atomic_store_n(&w.end, true, __ATOMIC_RELEASE);
	strober_watch_wake();
	pthread_join(w.thread, NULL);
	w.running = false;
	strober_watch_close(&w.wake);
	xfree(w.state);
	xfree(w.conf);
	xfree(box.names.p);
	xfree(box.map.p);
	xfree(box.given);
	xfree(box.missed.p);
	strober_watch_forget_held();
	memset(&box.names, 0, sizeof(box.names));
	memset(&box.map, 0, sizeof(box.map));
	memset(&box.missed, 0, sizeof(box.missed));
	box.ngiven = 0;
}

void strober_watch_tell(char *names, size_t names_len, void *map,
			size_t map_len)
{
	slurm_mutex_lock(&box.lock);
	if (names) {
		xfree(box.names.p);
		box.names = (struct bytes) { names, names_len };
		box.new_names = true;
		/* these counts are by the old nodes' numbers */
		xfree(box.missed.p);
		box.missed.len = 0;
		strober_watch_forget_held();
		strober_watch_expect();
	}
	xfree(box.map.p);
	box.map = (struct bytes) { map, map_len };
	box.new_map = true;
	slurm_mutex_unlock(&box.lock);
	strober_watch_wake();
}

void strober_watch_lead(uint64_t lead)
{
	slurm_mutex_lock(&box.lock);
	box.new_lead = !box.lead_given || box.lead != lead;
	box.lead = lead;
	box.lead_given = true;
	slurm_mutex_unlock(&box.lock);
	strober_watch_wake();
}

uint32_t strober_watch_given(struct strober_given **given)
{
	uint32_t n;

	slurm_mutex_lock(&box.lock);
	*given = box.given;
	n = box.ngiven;
	box.given = NULL;
	box.ngiven = 0;
	slurm_mutex_unlock(&box.lock);
	return n;
}

bool strober_watch_missed(uint64_t *out, uint32_t nodes)
{
	bool said;

	slurm_mutex_lock(&box.lock);
	said = box.missed.p;
	for (size_t i = 0; i < box.missed.len;
	     i += sizeof(struct strober_missed)) {
		struct strober_missed m;

		memcpy(&m, box.missed.p + i, sizeof(m));
		if (m.node < nodes)
			out[m.node] = m.strobes;
	}
	slurm_mutex_unlock(&box.lock);
	return said;
}

uint32_t strober_watch_outside(struct strober_outside **out, uint32_t nodes,
			       bool *mute)
{
	uint32_t n = 0;

	slurm_mutex_lock(&box.lock);
	*mute = storm_now() > box.heard_at + MUTE;
	*out = xcalloc(nodes + 1, sizeof(**out));
	for (uint32_t i = 0; *mute && i < nodes; i++)
		(*out)[n++] = (struct strober_outside) { .node = i,
							 .since = box.heard };
	if (!*mute && box.outside_nodes == nodes &&
	    box.outside.len <= nodes * sizeof(**out)) {
		n = box.outside.len / sizeof(**out);
		if (n)
			memcpy(*out, box.outside.p, box.outside.len);
	}
	slurm_mutex_unlock(&box.lock);
	return n;
}

void strober_watch_held(uint64_t *force, uint64_t *proof, bool *loose,
			uint32_t nodes)
{
	struct strober_held h = { 0 };
	uint32_t n;

	slurm_mutex_lock(&box.lock);
	if (box.held.p && storm_now() <= box.heard_at + MUTE)
		memcpy(&h, box.held.p, sizeof(h));
	if (h.nodes != nodes)
		h = (struct strober_held) { 0 };
	for (uint32_t i = 0; i < h.loose; i++) {
		memcpy(&n, box.held.p + sizeof(h) + i * sizeof(n), sizeof(n));
		if (n < nodes)
			loose[n] = true;
	}
	slurm_mutex_unlock(&box.lock);
	*force = h.force;
	*proof = h.proof;
}
