/*
 * strober.c - storm_strober, the Machine Manager's clock (paper section 2.1: it
 * strobes): slurmctld's child, which owns the cluster domain, hands each map to
 * all nodes at once and says whose turn it is at every quantum.
 *
 * Two threads.  The first one serves slurmctld, opens the domain, transfers
 * maps.  The second one sends strobes, when rota.c says, under a real-time
 * priority where that is allowed; it never waits but for time.
 *
 * Fail open: when slurmctld dies or stops, the nodes are told that everything
 * runs; when this process does, they notice the silence.  When it goes on after it
 * has stood still, another slurmctld's strober may have taken over: before it says
 * anything it begins a new epoch, which one alone of them can.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "maps.h"
#include "missed.h"
#include "rota.h"
#include "storm_config.h"
#include "strober.h"
#include "src/common/child_log.h"
#include "src/common/gang_map.h"
#include "src/common/node_addr.h"
#include "src/common/proc_state.h"
#include "src/common/storm_conf.h"
#include "src/libstorm/clock.h"

#define PRIORITY 20		/* SCHED_FIFO */
#define RETRY (100 * STORM_MS)	/* of a map that was not taken */
#define TEST_EVERY (20 * STORM_MS)
#define LOOK_EVERY (25 * STORM_MS)	/* whether slurmctld is stopped */
#define PIPE 0			/* the socket to slurmctld */

static struct {
	const char *state;		/* file */
	uint64_t cluster;
	struct storm_conf conf;
	int wake, signals, parent;
	bool stop;
	/* frames: what has come of the one that is coming */
	uint8_t *in;
	size_t have, room;
	/* the domain's nodes */
	char **name;
	uint32_t nodes;
	uint32_t epoch;			/* that was saved last, by us or before */
	char *failed;			/* why there is no domain, said once */
	uint64_t open_at;		/* when to try again */
	struct maps maps;
	storm_event_t *event;		/* of the one that is on its way */
	uint64_t retry_at, tell_at;
	bool refused;			/* the last transfer was, said once */
	bool joined;			/* somebody has */
} s = { .wake = -1, .signals = -1, .parent = -1 };

/* What both threads use. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	pthread_t thread;
	bool running, stop;
	storm_domain_t *domain;		/* NULL: none that is open */
	struct rota *rota;		/* NULL: no map yet */
	uint64_t pulse;			/* slurmctld's last sign of life */
	bool away;			/* we were: is the domain still ours? */
	bool deaf;			/* too long ago, or it is stopped */
	bool stopped;			/* as of the last look */
	uint64_t look_at;
	uint64_t latest;
} clk = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Wake the first thread. */
static void poke(void)
{
	const uint64_t one = 1;

	if (write(s.wake, &one, sizeof(one)) != sizeof(one))
		error("eventfd: %m");
}

/* ------------------------------------------------------------- strobes --- */

/* Locked.  Everything that is due. */
static void strobe_all(uint64_t now)
{
	uint8_t body[GANG_STROBE_LEN];
	uint64_t due = rota_due(clk.rota);
	struct gang_strobe g;

	if (due < now && now - due > clk.latest)
		clk.latest = now - due;
	while (rota_next(clk.rota, now, &g)) {
		gang_strobe_pack(&g, body);
		storm_strobe(clk.domain, body, sizeof(body));
	}
}

/* Where it is us who come late, what slurmctld said is still to be read: for
 * a while that counts, too. */
static bool is_silent(uint64_t now)
{
	struct pollfd p = { .fd = PIPE, .events = POLLIN };
	uint64_t silence = now - clk.pulse;

	return silence > STROBER_PULSE_LIMIT &&
		(silence > STROBER_PULSE_LIMIT + STROBER_PULSE_GRACE ||
		 poll(&p, 1, 0) <= 0);
}

/* Locked.  The kernel's word: at once, where silence takes its time. */
static bool is_stopped(uint64_t now)
{
	if (now < clk.look_at)
		return clk.stopped;
	clk.look_at = now + LOOK_EVERY;
	return clk.stopped = proc_stopped(getppid());
}

/* Locked.  Not woken when it had to be: until the first thread has asked, nothing is
 * said. */
static void notice_absence(uint64_t due, uint64_t now)
{
	if (due == STORM_NEVER || now <= due + GANG_AWAY || clk.away || !clk.rota ||
	    !clk.domain)
		return;
	info("this process stood still for %.1f s", (now - due) / 1e9);
	clk.away = true;
	rota_pause(clk.rota, due);
	poke();
}

/* Locked.  Is slurmctld alive?  When to look again. */
static uint64_t listen_to_pulse(uint64_t now)
{
	bool stopped = is_stopped(now), deaf = stopped || is_silent(now);

	if (deaf && !clk.deaf) {
		info("slurmctld %s, everything runs", stopped ? "is stopped" :
		     "gives no sign of life");
		rota_pause(clk.rota, now);
	} else if (!deaf && clk.deaf) {
		info("slurmctld is back");
		rota_continue(clk.rota, now);
	}
	clk.deaf = deaf;
	/* its next pulse will wake us */
	return deaf ? STORM_NEVER : clk.look_at;
}

static void wait_until(uint64_t due)
{
	struct timespec ts = { .tv_sec = due / STORM_SEC,
			       .tv_nsec = due % STORM_SEC };

	if (due == STORM_NEVER)
		pthread_cond_wait(&clk.cond, &clk.lock);
	else
		pthread_cond_timedwait(&clk.cond, &clk.lock, &ts);
}

static void *strober(void *arg)
{
	uint64_t due = STORM_NEVER;

	(void) arg;
	prctl(PR_SET_TIMERSLACK, 1);
	pthread_mutex_lock(&clk.lock);
	while (!clk.stop) {
		uint64_t now = storm_now(), look;

		notice_absence(due, now);
		due = STORM_NEVER;
		if (clk.rota && clk.domain && !clk.away) {
			look = listen_to_pulse(now);
			strobe_all(now);
			due = rota_due(clk.rota);
			/* nobody asks for a pulse where nothing is shared */
			if (due != STORM_NEVER && look < due)
				due = look;
		}
		wait_until(due);
	}
	pthread_mutex_unlock(&clk.lock);
	return NULL;
}

static int strober_start(void)
{
	pthread_condattr_t attr;
	int rc;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&clk.cond, &attr);
	pthread_condattr_destroy(&attr);
	clk.pulse = storm_now();
	rc = pthread_create(&clk.thread, NULL, strober, NULL);
	if (rc)
		error("cannot start a thread: %s", strerror(rc));
	clk.running = !rc;
	return rc ? -1 : 0;
}

static void strober_stop(void)
{
	if (!clk.running)
		return;
	pthread_mutex_lock(&clk.lock);
	clk.stop = true;
	pthread_cond_signal(&clk.cond);
	pthread_mutex_unlock(&clk.lock);
	pthread_join(clk.thread, NULL);
}

/* May as much memory be locked as there is? */
static bool may_lock(void)
{
	struct __user_cap_header_struct h = {
		.version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3] = { 0 };
	struct rlimit r = { 0 };

	if (!syscall(SYS_capget, &h, d) &&
	    d[CAP_TO_INDEX(CAP_IPC_LOCK)].effective &
	    CAP_TO_MASK(CAP_IPC_LOCK))
		return true;
	return !getrlimit(RLIMIT_MEMLOCK, &r) && r.rlim_cur == RLIM_INFINITY;
}

/* Better with it; without, a strober is still a strober. */
static void be_real_time(void)
{
	struct sched_param p = { .sched_priority = PRIORITY };

	/* under a limit, memory that is asked for later would be refused */
	if (!may_lock())
		info("memory cannot be locked, strobes may come late; remedy: LimitMEMLOCK=infinity in slurmctld's unit, or CAP_IPC_LOCK, see storm(7)");
	else if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		info("memory cannot be locked (%m), strobes may come late");
	/* threads that are made from now on inherit it */
	if (!sched_setscheduler(0, SCHED_FIFO, &p))
		return;
	info("no real-time priority (%m), strobes may come late; remedy: LimitRTPRIO=%d in slurmctld's unit, or CAP_SYS_NICE, see storm(7)",
	     PRIORITY);
	if (setpriority(PRIO_PROCESS, 0, -20))
		debug("no better nice value either: %m");
}

/* ------------------------------------------------------ the cluster domain --- */

static int save(void *arg, uint32_t was, uint32_t epoch,
		const struct storm_idset *excluded)
{
	struct strober_saved now = { .epoch = epoch };
	uint64_t n = storm_idset_size(excluded);
	int rc;

	(void) arg;
	now.excluded = calloc(n + 1, sizeof(*now.excluded));
	if (!now.excluded)
		return -1;
	for (uint32_t i = 0; i < excluded->count; i++)
		for (uint32_t k = excluded->r[i].first;
		     k <= excluded->r[i].last && k < s.nodes; k++)
			now.excluded[now.nexcluded++] = s.name[k];
	rc = strober_save(s.state, was, &now);
	free(now.excluded);
	if (!rc)
		s.epoch = epoch;
	return rc;
}

static void on_fault(void *arg, const struct storm_fault *f)
{
	(void) arg;
	if (f->node < s.nodes)
		info("node %s is out of gang scheduling, its jobs run: %s%s%s",
		     s.name[f->node], storm_strerror(f->why),
		     f->sys ? ": " : "",
		     f->sys && f->why == STORM_ESYS ? strerror(f->sys) : "");
}

static void on_joined(void *arg, uint32_t node)
{
	(void) arg;
	if (node < s.nodes)
		info("node %s is in gang scheduling", s.name[node]);
	__atomic_store_n(&s.joined, true, __ATOMIC_RELEASE);
	poke();
}

/* Log it, unless it is what was logged last. */
static void complain(const char *why)
{
	if (!s.failed || strcmp(s.failed, why))
		error("no gang scheduling: %s", why);
	xfree(s.failed);
	s.failed = xstrdup(why);
	s.open_at = storm_now() + STORM_SEC;
}

/* Of the excluded that were saved, those that are still in the list. */
static int load(struct storm_idset *excluded)
{
	struct strober_saved saved;
	int rc = strober_load(s.state, &saved);

	if (rc)
		return rc;
	s.epoch = saved.epoch;
	for (uint32_t i = 0; i < s.nodes; i++)
		for (uint32_t k = 0; k < saved.nexcluded; k++)
			if (!strcmp(s.name[i], saved.excluded[k]))
				rc |= storm_idset_add(excluded, i, i);
	strober_saved_clear(&saved);
	return rc;
}

static storm_domain_t *create(const struct storm_node *nodes,
			      const struct storm_idset *excluded)
{
	struct storm_domain_conf dc = {
		.nodes = nodes, .count = s.nodes, .set = s.conf.set,
		.agent_uid = slurm_conf.slurmd_user_id,
		.cluster = s.cluster, .epoch = s.epoch, .excluded = excluded,
		.save = save, .on_fault = on_fault, .on_joined = on_joined,
	};
	storm_domain_t *d;
	int err;

	d = storm_domain_create(&dc, &err);
	if (!d) {
		complain(storm_strerror(err));
		return NULL;
	}
	err = storm_domain_open(d);
	if (!err)
		err = storm_domain_wait_open(d, NULL);
	if (!err)
		return d;
	complain(storm_strerror(err));
	storm_domain_destroy(d);
	return NULL;
}

static struct storm_node *addresses(void)
{
	struct storm_node *nodes = xcalloc(s.nodes + 1, sizeof(*nodes));

	for (uint32_t i = 0; i < s.nodes; i++) {
		nodes[i].name = s.name[i];
		if (!node_addr(s.name[i], s.conf.set.port, &nodes[i].addr)) {
			char *why = NULL;

			xstrfmtcat(why, "the address of node %s is not known",
				   s.name[i]);
			complain(why);
			xfree(why);
			xfree(nodes);
			return NULL;
		}
	}
	return nodes;
}

/* Are strobes sent? */
static bool is_strobing(void)
{
	bool yes;

	pthread_mutex_lock(&clk.lock);
	yes = clk.domain && clk.rota && rota_due(clk.rota) != STORM_NEVER;
	pthread_mutex_unlock(&clk.lock);
	return yes;
}

static void domain_open(void)
{
	struct storm_idset excluded = { 0 };
	struct storm_node *nodes = addresses();
	storm_domain_t *d = NULL;

	if (!nodes)
		return;
	if (load(&excluded))
		complain("its state cannot be read");
	else
		d = create(nodes, &excluded);
	storm_idset_clear(&excluded);
	xfree(nodes);
	if (!d)
		return;
	info("the cluster domain is open: %u nodes", s.nodes);
	xfree(s.failed);
	if (missed_start(d, s.nodes, is_strobing))
		error("who misses strobes will not be known: no memory, or no thread");
	pthread_mutex_lock(&clk.lock);
	clk.domain = d;
	clk.away = false;
	pthread_mutex_unlock(&clk.lock);
}

/* We have stood still, and what slurmctld said meanwhile is read. */
static void domain_confirm(void)
{
	uint64_t now = storm_now();
	bool away;
	int err;

	pthread_mutex_lock(&clk.lock);
	away = clk.away;
	pthread_mutex_unlock(&clk.lock);
	if (!away)
		return;
	err = storm_domain_confirm(clk.domain);
	if (err) {
		complain(storm_strerror(err));
		return;
	}
	pthread_mutex_lock(&clk.lock);
	clk.away = false;
	if (!clk.deaf)
		rota_continue(clk.rota, now);
	pthread_cond_signal(&clk.cond);
	pthread_mutex_unlock(&clk.lock);
}

static void domain_close(void)
{
	storm_domain_t *d;

	storm_event_destroy(s.event);
	s.event = NULL;
	pthread_mutex_lock(&clk.lock);
	d = clk.domain;
	clk.domain = NULL;
	rota_destroy(clk.rota);
	clk.rota = NULL;
	pthread_mutex_unlock(&clk.lock);
	missed_stop();
	storm_domain_destroy(d);
	maps_clear(&s.maps);
}

/* ------------------------------------------------------------------ maps --- */

static bool is_shared(const struct gang_map *m)
{
	for (uint32_t i = 0; i < m->nzones; i++)
		if (m->zones[i].rows > 1)
			return true;
	return false;
}

static void tell(void);

/* This map counts from now on. */
static void map_counts(const struct map_bytes *b)
{
	struct gang_map m;
	struct rota *r;
	uint64_t now = storm_now();

	if (gang_map_unpack(b->buf, b->len, &m)) {
		error("no memory for a map");
		return;
	}
	tell();			/* the last word on those that have ended */
	pthread_mutex_lock(&clk.lock);
	r = rota_create(&m, gang_map_digest(b->buf, b->len), clk.rota, now);
	if (r) {
		rota_destroy(clk.rota);
		clk.rota = r;
		pthread_cond_signal(&clk.cond);
	}
	pthread_mutex_unlock(&clk.lock);
	if (!r) {
		gang_map_clear(&m);
		error("no memory for a map");
	}
}

/* Does somebody have to know it?  -1: nobody can, it makes no sense. */
static int is_needed(const struct map_bytes *b)
{
	struct gang_map m;
	int needed;

	if (gang_map_unpack(b->buf, b->len, &m)) {
		error("slurmctld's map makes no sense, it is ignored");
		return -1;
	}
	needed = m.nodes == s.nodes ? is_shared(&m) : -1;
	if (needed < 0)
		error("slurmctld's map is of %u nodes, the domain of %u: it is ignored",
		      m.nodes, s.nodes);
	gang_map_clear(&m);
	return needed;
}

static void map_send(void)
{
	const struct storm_target to = { .kind = STORM_TARGET_MEMORY,
					 .remote_event = GANG_EVENT_MAP };
	const struct map_bytes *b = maps_begin(&s.maps);
	int needed = is_needed(b);

	if (needed > 0) {
		s.event = storm_xfer_and_signal(clk.domain, NULL, &to, b->buf,
						b->len);
		if (s.event)
			return;
		maps_refused(&s.maps);
		s.retry_at = storm_now() + RETRY;
		return;
	}
	if (!needed)
		map_counts(b);
	maps_unneeded(&s.maps);
}

static void map_refused(const struct storm_outcome *out)
{
	if (!s.refused)
		info("a map was not taken%s%s: it is sent again",
		     out->nfaults ? ": " : "",
		     out->nfaults ? storm_strerror(out->faults[0].why) : "");
	s.refused = true;
	maps_refused(&s.maps);
	s.retry_at = storm_now() + RETRY;
}

static void map_sent(void)
{
	struct storm_outcome out = { 0 };

	if (!storm_test_event(s.event, true, storm_now() + TEST_EVERY, &out))
		return;
	storm_event_destroy(s.event);
	s.event = NULL;
	if (out.state == STORM_DONE) {
		s.refused = false;
		map_counts(&s.maps.moving);
		maps_done(&s.maps);
	} else {
		map_refused(&out);
	}
	storm_outcome_clear(&out);
}

/* ----------------------------------------------------- slurmctld's frames --- */

static void take_nodes(const char *body, size_t len)
{
	domain_close();
	for (uint32_t i = 0; i < s.nodes; i++)
		xfree(s.name[i]);
	xfree(s.name);
	s.nodes = 0;
	s.open_at = 0;
	if (!len || body[len - 1])
		return;
	slurm_conf_reinit(NULL);
	for (const char *p = body; p < body + len; p += strlen(p) + 1) {
		xrecalloc(s.name, s.nodes + 1, sizeof(*s.name));
		s.name[s.nodes++] = xstrdup(p);
	}
}

static void take_map(const void *body, size_t len)
{
	void *buf = malloc(len + 1);

	if (!buf) {
		error("no memory for a map");
		return;
	}
	memcpy(buf, body, len);
	maps_take(&s.maps, buf, len);
	s.retry_at = 0;
}

static void take_pulse(const void *body, size_t len)
{
	uint64_t when;

	if (len != sizeof(when))
		return;
	memcpy(&when, body, len);
	pthread_mutex_lock(&clk.lock);
	clk.pulse = when;
	if (clk.deaf) {
		clk.look_at = 0;
		pthread_cond_signal(&clk.cond);
	}
	pthread_mutex_unlock(&clk.lock);
}

static void take(const struct strober_frame *f, const void *body)
{
	switch (f->verb) {
	case STROBER_NODES:
		take_nodes(body, f->len);
		break;
	case STROBER_MAP:
		take_map(body, f->len);
		break;
	case STROBER_PULSE:
		take_pulse(body, f->len);
		break;
	default:
		error("slurmctld says %u, which means nothing here", f->verb);
	}
}

/* All frames that are complete; the rest is kept. */
static void take_frames(void)
{
	struct strober_frame f;
	size_t at = 0;

	while (s.have - at >= sizeof(f)) {
		memcpy(&f, s.in + at, sizeof(f));
		if (f.len > STROBER_BODY_MAX) {
			error("a frame of %u bytes from slurmctld", f.len);
			s.stop = true;
			return;
		}
		if (s.have - at < sizeof(f) + f.len)
			break;
		take(&f, s.in + at + sizeof(f));
		at += sizeof(f) + f.len;
	}
	memmove(s.in, s.in + at, s.have - at);
	s.have -= at;
}

/* False: slurmctld has gone. */
static bool hear(void)
{
	ssize_t n;

	while (true) {
		if (s.room - s.have < 65536) {
			s.room = s.room * 2 + 65536;
			xrealloc(s.in, s.room);
		}
		n = read(PIPE, s.in + s.have, s.room - s.have);
		if (n <= 0)
			break;
		s.have += n;
		take_frames();
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* --------------------------------------------------- what slurmctld is told --- */

/* NULL: nothing is shared. */
static void *state_frame(size_t *len)
{
	struct strober_frame *f = NULL;
	struct strober_state *st;
	struct strober_given *g;
	struct rota_stats rs;
	const struct gang_map *m;
	uint64_t now = storm_now();

	pthread_mutex_lock(&clk.lock);
	if (clk.rota && rota_due(clk.rota) != STORM_NEVER) {
		m = rota_map(clk.rota);
		*len = sizeof(*f) + sizeof(*st) + m->njobs * sizeof(*g);
		f = calloc(1, *len);
	}
	if (f) {
		f->verb = STROBER_STATE;
		f->len = *len - sizeof(*f);
		st = (void *) (f + 1);
		g = (void *) (st + 1);
		rota_stats(clk.rota, &rs);
		st->version = m->version;
		st->switches = rs.switches;
		st->repeats = rs.repeats;
		st->late = rs.late;
		st->latest = clk.latest;
		st->njobs = m->njobs;
		for (uint32_t i = 0; i < m->njobs; i++) {
			g[i].job_id = m->jobs[i].job_id;
			g[i].ns = rota_given(clk.rota, i, now);
		}
		clk.latest = 0;
	}
	pthread_mutex_unlock(&clk.lock);
	return f;
}

/* Not to be waited for: when slurmctld does not read, it does without; but half
 * a frame must be followed by its other half. */
static void say(const char *f, size_t len)
{
	size_t at = 0;

	while (f && at < len) {
		ssize_t n = send(PIPE, f + at, len - at,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			at += n;
		} else if (errno != EAGAIN || !at) {
			break;
		} else {
			struct pollfd p = { .fd = PIPE, .events = POLLOUT };

			if (poll(&p, 1, 1000) <= 0) {
				s.stop = true;
				break;
			}
		}
	}
}

static void tell(void)
{
	size_t len = 0;
	char *f = state_frame(&len);

	say(f, len);
	free(f);
}

/* Of all nodes that have missed some; nothing where nobody knows. */
static void tell_missed(void)
{
	uint64_t *count = xcalloc(s.nodes + 1, sizeof(*count));
	struct strober_frame *f;
	struct strober_missed *m;
	uint32_t n = 0;

	f = xmalloc(sizeof(*f) + s.nodes * sizeof(*m));
	m = (void *) (f + 1);
	if (missed_get(count, s.nodes)) {
		for (uint32_t i = 0; i < s.nodes; i++)
			if (count[i])
				m[n++] = (struct strober_missed) {
					.node = i, .strobes = count[i] };
		f->verb = STROBER_MISSED;
		f->len = n * sizeof(*m);
		say((char *) f, sizeof(*f) + f->len);
	}
	xfree(count);
	xfree(f);
}

/* -------------------------------------------------------------- main loop --- */

static void act(uint64_t now)
{
	if (!clk.domain && s.nodes && now >= s.open_at)
		domain_open();
	if (s.event)
		map_sent();
	if (!clk.domain)
		return;
	domain_confirm();
	if (__atomic_exchange_n(&s.joined, false, __ATOMIC_ACQ_REL))
		maps_join(&s.maps);
	if (maps_due(&s.maps) && now >= s.retry_at)
		map_send();
	if (now >= s.tell_at) {
		tell();
		tell_missed();
		s.tell_at = now + STROBER_TELL_EVERY;
	}
}

static int next_ms(uint64_t now)
{
	uint64_t next = now + STROBER_TELL_EVERY;

	if (s.event)
		return 0;		/* map_sent() waits */
	if (clk.domain && maps_due(&s.maps) && s.retry_at < next)
		next = s.retry_at;
	if (!clk.domain && s.nodes && s.open_at < next)
		next = s.open_at;
	return next <= now ? 0 : (next - now) / STORM_MS + 1;
}

static void turn(void)
{
	struct pollfd p[4] = {
		{ .fd = PIPE, .events = POLLIN },
		{ .fd = s.wake, .events = POLLIN },
		{ .fd = s.signals, .events = POLLIN },
		{ .fd = s.parent, .events = POLLIN },
	};
	uint64_t n;

	if (poll(p, 4, next_ms(storm_now())) < 0 && errno != EINTR) {
		error("poll: %m");
		s.stop = true;
		return;
	}
	if (p[1].revents && read(s.wake, &n, sizeof(n)) < 0)
		debug("eventfd: %m");
	if ((p[0].revents && !hear()) || p[3].revents) {
		info("slurmctld is gone, ending");
		s.stop = true;
	}
	if (p[2].revents) {
		info("ending, as a signal says");
		s.stop = true;
	}
	if (!s.stop)
		act(storm_now());
}

/* Nodes need not wait for silence: all of them are told. */
static void farewell(void)
{
	const struct timespec pause = { .tv_nsec = 5 * STORM_MS };
	bool said = false;

	pthread_mutex_lock(&clk.lock);
	if (clk.rota)
		rota_pause(clk.rota, storm_now());
	clk.deaf = true;
	clk.pulse = 0;
	pthread_cond_signal(&clk.cond);
	pthread_mutex_unlock(&clk.lock);
	for (int i = 0; i < 20 && !said; i++) {
		pthread_mutex_lock(&clk.lock);
		said = !clk.domain || !clk.rota || clk.away ||
			rota_due(clk.rota) == STORM_NEVER;
		pthread_mutex_unlock(&clk.lock);
		if (!said)
			nanosleep(&pause, NULL);
	}
}

static int descriptors(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	s.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s.parent = pidfd_open(getppid(), 0);
	if (s.signals < 0 || s.wake < 0 || s.parent < 0)
		return -1;
	return fcntl(PIPE, F_SETFL, O_NONBLOCK);
}

static int run(void)
{
	log_options_t opts = LOG_OPTS_STDERR_ONLY;
	char *why = NULL;

	log_init("storm_strober", opts, 0, NULL);
	slurm_conf_init(NULL);
	if (slurm_conf.slurmctld_debug > LOG_LEVEL_INFO) {
		opts.stderr_level = slurm_conf.slurmctld_debug;
		log_alter(opts, 0, NULL);
	}
	storm_log_set(child_log);
	/* the domain's key is in here */
	prctl(PR_SET_DUMPABLE, 0);
	if (storm_conf_load(&s.conf, &why)) {
		error("%s", why);
		return STROBER_EXIT_CONF;
	}
	s.cluster = gang_cluster_number(slurm_conf.cluster_name);
	if (descriptors()) {
		error("cannot start: %m");
		return 1;
	}
	be_real_time();
	if (strober_start())
		return 1;
	while (!s.stop)
		turn();
	farewell();
	strober_stop();
	domain_close();
	return 0;
}

static const char usage[] =
"Usage: storm_strober --state FILE\n"
"\n"
"The clock of STORM's gang scheduling.  slurmctld runs it, with a socket on its\n"
"standard input; it is of no use by itself.\n"
"  --state FILE   where the cluster domain's epoch is kept\n"
"  --version      print the version\n";

int main(int argc, char **argv)
{
	enum { STATE = 1, VERSION_, HELP };
	static const struct option options[] = {
		{ "state", required_argument, NULL, STATE },
		{ "version", no_argument, NULL, VERSION_ },
		{ "help", no_argument, NULL, HELP },
		{ 0 }
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case STATE:
			s.state = optarg;
			break;
		case VERSION_:
			puts("storm_strober " STORM_VERSION);
			return 0;
		case HELP:
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (!s.state || optind != argc) {
		fputs(usage, stderr);
		return 2;
	}
	return run();
}
