/*
 * strober_watch.c - a thread of slurmctld that runs the strober, by the contract of
 * child_watch.h, and sends it a sign of life ten times a second
 * (doc/gang-scheduling.md, The strober).  A strober that reads these answers: the
 * kernel knows what waits unread in the socket.
 *
 * It takes none of slurmctld's locks.  So the pulse stops when the process
 * does, and not when a lock is held for long.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sockios.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "src/libstorm/base/clock.h"
#include "src/storm_common/child_spawn.h"
#include "src/storm_common/child_watch.h"
#include "strober_watch.h"

#define STOP_LIMIT 2000 /* ms */
/* Without reading.  Meanwhile it may look up the names of all nodes, which takes 10 s
 * for each 33 where no server answers, and open its domain, which takes OpenTimeout;
 * that is 10 min at most.  Nodes need no help: without strobes all jobs run. */
#define PATIENCE (900 * STORM_SEC)
#define LOOK 1000			/* ms; while it does not read */
#define MUTE (3 * STROBER_REPORT_EVERY) /* no strober that strobes */
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
	struct bytes failed;	/* uint32_t nodes, 0; struct strober_failed */
	uint64_t failed_at;	/* ns; when it came */
	void (*on_failed)(void);
	uint64_t heard_at; /* ns; the last STROBER_OUTSIDE */
	int64_t heard;	   /* and by the wall clock */
} box = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The thread's own. */
static struct child_watch strober = {
	.name = "storm: the strober (pid",
	.program = "storm_strober",
	.patience = PATIENCE,
	.pidfd = -1,
	.log_read = -1,
	.log_write = -1,
};

static struct {
	pthread_t thread;
	bool running;
	int wake; /* eventfd: look into the box, or end */
	bool end;
	bool retry;   /* a strober that refused storm.conf may start again */
	bool changed; /* one that runs has read another storm.conf */
	int sock;
	char *state, *conf; /* copies: a reconfigure may change
					   slurm_conf, and there is no lock */
	struct bytes out;   /* frames to write, from `at` on */
	size_t at;
	char *in; /* a frame, `have` bytes so far */
	size_t have;
	uint64_t pulse_at;
} watcher = { .wake = -1, .sock = -1 };

/* The strober may take MUTE from now on until it reports. */
static void strober_watch_expect(void)
{
	box.heard_at = storm_now();
	box.heard = time(NULL);
	box.outside_nodes = 0;
}

/* -------------------------------------------------------- start and end --- */

/* Locked.  What is known of held jobs is void. */
static void strober_watch_forget_held(void)
{
	xfree(box.held.p);
	box.held.len = 0;
}

/* Locked.  What a strober has said of its nodes is void. */
static void strober_watch_forget_nodes(void)
{
	strober_watch_forget_held();
	xfree(box.failed.p);
	box.failed.len = 0;
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

static void strober_watch_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* False: it could not be started, or be watched. */
static bool strober_watch_spawn_with(int sock)
{
	char *argv[] = { "storm_strober", "--state", watcher.state, NULL };
	const struct child_fds fds = { .in = sock, .log = strober.log_write };
	pid_t pid;

	if (child_spawn(STORM_STROBER_PATH, argv, watcher.conf, &fds, &pid)) {
		child_watch_failed(&strober);
		return false;
	}
	return !child_watch_began(&strober, pid, true);
}

static void strober_watch_spawn(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		error("storm: cannot start the strober: socketpair: %m");
		child_watch_failed(&strober);
		return;
	}
	if (strober_watch_spawn_with(pair[1])) {
		watcher.sock = pair[0];
		fcntl(watcher.sock, F_SETFL, O_NONBLOCK);
		strober_watch_all_is_new();
	} else {
		close(pair[0]);
	}
	close(pair[1]);
}

/* What the strober has said is void, and half a frame is useless. */
static void strober_watch_forget(void)
{
	child_watch_forget(&strober);
	slurm_mutex_lock(&box.lock);
	strober_watch_forget_nodes();
	slurm_mutex_unlock(&box.lock);
	watcher.have = 0;
	xfree(watcher.in);
	xfree(watcher.out.p);
	watcher.out.len = watcher.at = 0;
}

/* The strober has ended, or is to: it does by itself when its socket is closed. */
static void strober_watch_over(bool hangs)
{
	int status;

	strober_watch_close(&watcher.sock);
	status = child_watch_end(&strober, 0, hangs ? 0 : STOP_LIMIT);
	if (!hangs && !watcher.end)
		child_watch_tell(&strober, status);
	strober_watch_forget();
}

/* It lets everything run, and the next one takes over. */
static void strober_watch_replace(void)
{
	info("storm: replacing the strober (pid %d): storm.conf has changed",
	     strober.pid);
	strober_watch_close(&watcher.sock);
	child_watch_end(&strober, 0, STOP_LIMIT);
	strober_watch_forget();
	child_watch_at_once(&strober);
}

/* ------------------------------------------------------- to the strober --- */

static void strober_watch_append(uint32_t verb, const void *body, size_t len)
{
	struct strober_frame f = { .verb = verb, .len = len };

	xrealloc(watcher.out.p, watcher.out.len + sizeof(f) + len);
	memcpy(watcher.out.p + watcher.out.len, &f, sizeof(f));
	if (len)
		memcpy(watcher.out.p + watcher.out.len + sizeof(f), body, len);
	watcher.out.len += sizeof(f) + len;
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
	if (now >= watcher.pulse_at) {
		strober_watch_append(STROBER_PULSE, &now, sizeof(now));
		watcher.pulse_at = now + STROBER_PULSE_EVERY;
	}
}

/* False: the strober has closed the socket. */
static bool strober_watch_write(uint64_t now)
{
	while (true) {
		ssize_t n;

		if (watcher.at == watcher.out.len) {
			xfree(watcher.out.p);
			watcher.at = watcher.out.len = 0;
			strober_watch_refill(now);
		}
		if (watcher.at == watcher.out.len)
			return true;
		n = send(watcher.sock, watcher.out.p + watcher.at,
			 watcher.out.len - watcher.at,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		watcher.at += n;
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

static void strober_watch_take_failed(const char *body, size_t len)
{
	bool news;

	if (len < STROBER_HEAD ||
	    (len - STROBER_HEAD) % sizeof(struct strober_failed))
		return;
	slurm_mutex_lock(&box.lock);
	news = !box.failed.p || box.failed.len != len ||
	       memcmp(box.failed.p, body, len) != 0;
	xfree(box.failed.p);
	box.failed.p = xmalloc(len);
	memcpy(box.failed.p, body, len);
	box.failed.len = len;
	box.failed_at = storm_now();
	slurm_mutex_unlock(&box.lock);
	if (news && box.on_failed)
		box.on_failed();
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
	else if (f->verb == STROBER_FAILED)
		strober_watch_take_failed(body, f->len);
}

/* False: the strober has closed the socket, or sent an invalid frame. */
static bool strober_watch_read(void)
{
	struct strober_frame f;
	ssize_t n;

	while (true) {
		size_t want = sizeof(f);

		if (watcher.have >= sizeof(f)) {
			memcpy(&f, watcher.in, sizeof(f));
			if (f.len > STROBER_BODY_MAX)
				return false;
			want += f.len;
		}
		xrealloc(watcher.in, want);
		if (watcher.have == want && watcher.have >= sizeof(f)) {
			child_watch_serves(&strober);
			strober_watch_take(&f, watcher.in + sizeof(f));
			watcher.have = 0;
			continue;
		}
		n = recv(watcher.sock, watcher.in + watcher.have,
			 want - watcher.have, MSG_DONTWAIT);
		if (n <= 0)
			return n < 0 && (errno == EAGAIN || errno == EINTR);
		watcher.have += n;
	}
}

/* ----------------------------------------------------------- the thread --- */

/* True: it hangs.  It has answered if it has read all that was sent. */
static bool strober_watch_hangs(uint64_t now)
{
	int unread;

	if (!watcher.out.len && !ioctl(watcher.sock, SIOCOUTQ, &unread) &&
	    !unread)
		child_watch_heard(&strober, now);
	return child_watch_hangs(&strober, now);
}

/* How long to poll, in ms.  While a strober that is stopped does not read, the next
 * pulse also waits. */
static int strober_watch_wait_time(uint64_t now)
{
	uint64_t next = strober.pid ? watcher.pulse_at : strober.start_at;

	if (watcher.out.len ||
	    (!strober.pid && strober.nleft == CHILD_LEFT_MAX))
		return LOOK;
	return next > now ? (int) ((next - now) / STORM_MS) + 1 : 0;
}

/* Serve the strober.  False: it is gone; or *hangs. */
static bool strober_watch_serve(uint64_t now, bool *hangs)
{
	*hangs = strober_watch_hangs(now);
	return !*hangs && strober_watch_read() && strober_watch_write(now);
}

static void strober_watch_turn(void)
{
	struct pollfd p[4] = {
		{ .fd = watcher.wake, .events = POLLIN },
		{ .fd = strober.log_read, .events = POLLIN },
		{ .fd = strober.pidfd, .events = POLLIN },
		{ .fd = watcher.sock, .events = POLLIN },
	};
	bool hangs = false;
	uint64_t now, n;

	if (watcher.out.len)
		p[3].events |= POLLOUT;
	if (poll(p, 4, strober_watch_wait_time(storm_now())) < 0 &&
	    errno != EINTR)
		error("storm: poll: %m");
	if (p[0].revents && read(watcher.wake, &n, sizeof(n)) < 0)
		debug("storm: eventfd: %m");
	child_watch_drain(&strober);
	child_watch_bury(&strober);
	now = storm_now();
	if (strober.pid && (p[2].revents || !strober_watch_serve(now, &hangs)))
		strober_watch_over(hangs);
	if (__atomic_exchange_n(&watcher.changed, false, __ATOMIC_ACQ_REL) &&
	    strober.pid)
		strober_watch_replace();
	if (__atomic_exchange_n(&watcher.retry, false, __ATOMIC_ACQ_REL) &&
	    !strober.pid)
		child_watch_at_once(&strober);
	if (!watcher.end && child_watch_due(&strober, now))
		strober_watch_spawn();
}

static void *strober_watch_thread(void *arg)
{
	(void) arg;
	while (!__atomic_load_n(&watcher.end, __ATOMIC_ACQUIRE))
		strober_watch_turn();
	if (strober.pid)
		strober_watch_over(false);
	return NULL;
}

static void strober_watch_wake(void)
{
	const uint64_t one = 1;

	if (write(watcher.wake, &one, sizeof(one)) != sizeof(one))
		error("storm: eventfd: %m");
}

int strober_watch_start(void)
{
	int rc;

	if (child_watch_open(&strober)) {
		error("storm: cannot start the strober: pipe: %m");
		return SLURM_ERROR;
	}
	watcher.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (watcher.wake < 0) {
		error("storm: cannot start the strober: eventfd: %m");
		child_watch_close(&strober);
		return SLURM_ERROR;
	}
	watcher.state = xstrdup_printf("%s/%s", slurm_conf.state_save_location,
				       STATE_FILE);
	watcher.conf = xstrdup(slurm_conf.slurm_conf);
	watcher.end = false;
	strober_watch_expect();
	rc = pthread_create(&watcher.thread, NULL, strober_watch_thread, NULL);
	if (rc) {
		error("storm: cannot start the strober's thread: %s",
		      strerror(rc));
		strober_watch_close(&watcher.wake);
		child_watch_close(&strober);
		xfree(watcher.state);
		xfree(watcher.conf);
		return SLURM_ERROR;
	}
	watcher.running = true;
	return SLURM_SUCCESS;
}

void strober_watch_log_all(bool all)
{
	__atomic_store_n(&strober.log.all, all, __ATOMIC_RELAXED);
}

void strober_watch_retry(bool changed)
{
	if (!watcher.running)
		return;
	if (changed)
		__atomic_store_n(&watcher.changed, true, __ATOMIC_RELEASE);
	__atomic_store_n(&watcher.retry, true, __ATOMIC_RELEASE);
	strober_watch_wake();
}

void strober_watch_stop(void)
{
	if (!watcher.running)
		return;
	__atomic_store_n(&watcher.end, true, __ATOMIC_RELEASE);
	strober_watch_wake();
	pthread_join(watcher.thread, NULL);
	watcher.running = false;
	strober_watch_close(&watcher.wake);
	child_watch_close(&strober);
	xfree(watcher.state);
	xfree(watcher.conf);
	xfree(box.names.p);
	xfree(box.map.p);
	xfree(box.given);
	xfree(box.missed.p);
	strober_watch_forget_nodes();
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
		strober_watch_forget_nodes();
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

void strober_watch_on_failed(void (*news)(void))
{
	box.on_failed = news;
}

int strober_watch_failed(struct strober_failed **out, uint32_t nodes)
{
	bool fresh;
	uint32_t head = 0;
	size_t len = 0;
	int n = -1;

	*out = NULL;
	slurm_mutex_lock(&box.lock);
	fresh = box.failed.p && storm_now() <= box.failed_at + MUTE;
	if (fresh) {
		memcpy(&head, box.failed.p, sizeof(head));
		len = box.failed.len - STROBER_HEAD;
	}
	if (fresh && head == nodes && len <= nodes * sizeof(**out)) {
		n = (int) (len / sizeof(**out));
		*out = xcalloc(n + 1, sizeof(**out));
		memcpy(*out, box.failed.p + STROBER_HEAD, len);
	}
	slurm_mutex_unlock(&box.lock);
	return n;
}
