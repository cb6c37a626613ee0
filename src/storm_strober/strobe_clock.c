/*
 * strobe_clock.c - the thread that strobes: see strobe_clock.h.
 *
 * One lock guards all that the clock's thread shares with the main thread,
 * which has started it.  The lock is held while strobes are sent.  It is never
 * held while the main thread waits for the domain or for slurmctld.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/common/log.h"

#include "rota.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_common/proc_state.h"
#include "strobe_clock.h"

#define PRIORITY 20		   /* SCHED_FIFO */
#define LOOK_EVERY (25 * STORM_MS) /* is slurmctld stopped? */
#define LOOK_EARLY (10 * STORM_MS) /* with a strobe */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	pthread_t thread;
	int fd;		    /* where pulses come from */
	void (*wake)(void); /* wakes the main thread */
	bool running, stop;
	storm_domain_t *domain; /* NULL: no open domain */
	struct rota *rota;	/* NULL: no map yet */
	uint64_t wish, lead;	/* ns: StrobeLead, and what the map allows */
	uint64_t rota_time;	/* see strobe_rota_time() */
	uint64_t pulse;		/* slurmctld's last sign of life */
	bool away;		/* did not run: confirm the domain */
	bool deaf;		/* the pulse is too old, or slurmctld
					   is stopped */
	bool stopped;		/* slurmctld was, at the last look */
	uint64_t look_at;
	uint64_t latest;
	_Atomic uint64_t number; /* of the last strobe; 0: none yet */
} clk = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---------------------------------------------------------- the thread --- */

/* Locked.  The rota lives by when nodes act.  So its time is ahead, and waits
 * when the lead becomes shorter: it never goes back. */
static uint64_t strobe_rota_time(uint64_t now)
{
	clk.rota_time = storm_max(clk.rota_time, now + clk.lead);
	return clk.rota_time;
}

/* Locked.  When the rota's next strobe is to be sent. */
static uint64_t strobe_due(void)
{
	uint64_t due = rota_due(clk.rota);

	return due == STORM_NEVER ? due : due - storm_min(clk.lead, due);
}

/* Locked.  Half of a quantum at most, so that no strobe is two slots ahead. */
static void strobe_set_lead(void)
{
	const struct gang_map *m = clk.rota ? rota_map(clk.rota) : NULL;

	clk.lead = storm_min(clk.wish, GANG_LEAD_MAX);
	for (uint32_t i = 0; m && i < m->nzones; i++)
		if (m->zones[i].rows > 1)
			clk.lead = storm_min(clk.lead, m->zones[i].quantum / 2);
}

/* 0: it was not sent. */
static void strobe_sent(uint64_t number)
{
	if (number)
		clk.number = number;
}

/* Locked.  Send all strobes that are due. */
static void strobe_all_due(uint64_t now)
{
	uint8_t body[GANG_STROBE_LEN];
	uint64_t due = strobe_due();
	struct gang_strobe g;

	if (due < now && now - due > clk.latest)
		clk.latest = now - due;
	while (rota_next(clk.rota, strobe_rota_time(now), &g)) {
		if (!clk.lead)
			g.at = g.next_at = g.next = 0;
		/* from here on all that it waits for delays all nodes alike */
		g.sent = storm_now();
		gang_strobe_pack(&g, body);
		strobe_sent(storm_strobe(clk.domain, body, sizeof(body)));
	}
}

/* Is the last pulse too old?  If this process is late itself, a pulse may wait
 * to be read.  So unread input extends the limit by STROBER_PULSE_GRACE. */
static bool strobe_is_silent(uint64_t now)
{
	struct pollfd p = { .fd = clk.fd, .events = POLLIN };
	uint64_t silence = now - clk.pulse;

	return silence > STROBER_PULSE_LIMIT &&
	       (silence > STROBER_PULSE_LIMIT + STROBER_PULSE_GRACE ||
		poll(&p, 1, 0) <= 0);
}

/* Locked.  Ask the kernel, which knows at once; silence takes longer to notice.
 * Do so when a strobe is sent anyway: each time that this thread wakes up costs
 * the job whose CPU it takes. */
static bool strobe_is_stopped(uint64_t now)
{
	uint64_t early = strobe_due() <= now ? LOOK_EARLY : 0;

	if (now + early < clk.look_at)
		return clk.stopped;
	clk.look_at = now + LOOK_EVERY;
	return clk.stopped = proc_stopped(getppid());
}

/* Locked.  If the thread was woken far too late, another strober may own the
 * domain.  Send nothing until the main thread has confirmed it. */
static void strobe_notice_absence(uint64_t due, uint64_t now)
{
	if (due == STORM_NEVER || now <= due + GANG_AWAY || clk.away ||
	    !clk.rota || !clk.domain)
		return;
	info("this process did not run for %.1f s", (now - due) / 1e9);
	clk.away = true;
	rota_pause(clk.rota, strobe_rota_time(due));
	clk.wake();
}

/* Locked.  Pause or continue as slurmctld dies or returns.  Returns when to
 * look again. */
static uint64_t strobe_listen_to_pulse(uint64_t now)
{
	bool stopped = strobe_is_stopped(now);
	bool deaf = stopped || strobe_is_silent(now);

	if (deaf && !clk.deaf) {
		info("slurmctld %s: all jobs run",
		     stopped ? "is stopped" : "sends no sign of life");
		rota_pause(clk.rota, strobe_rota_time(now));
	} else if (!deaf && clk.deaf) {
		info("slurmctld is back");
		rota_continue(clk.rota, strobe_rota_time(now));
	}
	clk.deaf = deaf;
	/* the next pulse wakes this thread */
	return deaf ? STORM_NEVER : clk.look_at;
}

static void strobe_wait_until(uint64_t due)
{
	struct timespec ts = { .tv_sec = due / STORM_SEC,
			       .tv_nsec = due % STORM_SEC };

	if (due == STORM_NEVER)
		pthread_cond_wait(&clk.cond, &clk.lock);
	else
		pthread_cond_timedwait(&clk.cond, &clk.lock, &ts);
}

static void *strobe_thread(void *arg)
{
	const struct sched_param priority = { .sched_priority = PRIORITY };
	uint64_t due = STORM_NEVER;

	(void) arg;
	prctl(PR_SET_TIMERSLACK, 1);
	/* as this process's main thread, which has logged it if that failed */
	sched_setscheduler(0, SCHED_FIFO, &priority);
	pthread_mutex_lock(&clk.lock);
	while (!clk.stop) {
		uint64_t now = storm_now(), look;

		strobe_notice_absence(due, now);
		due = STORM_NEVER;
		if (clk.rota && clk.domain && !clk.away) {
			look = strobe_listen_to_pulse(now);
			strobe_all_due(now);
			due = strobe_due();
			/* without strobes the pulse does not matter */
			if (due != STORM_NEVER && look < due)
				due = look;
		}
		strobe_wait_until(due);
	}
	pthread_mutex_unlock(&clk.lock);
	return NULL;
}

/* -------------------------------------------------------- start and end --- */

/* May the process lock memory without a limit? */
static bool strobe_may_lock(void)
{
	struct __user_cap_header_struct h = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3] = { 0 };
	struct rlimit r = { 0 };

	if (!syscall(SYS_capget, &h, d) &&
	    d[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK))
		return true;
	return !getrlimit(RLIMIT_MEMLOCK, &r) && r.rlim_cur == RLIM_INFINITY;
}

/* Get locked memory and a real-time priority.  The strober works without
 * them. */
static void strobe_be_real_time(void)
{
	struct sched_param p = { .sched_priority = PRIORITY };

	/* under a limit mlockall() would make later allocations fail */
	if (!strobe_may_lock())
		info("cannot lock memory, strobes may be late: set LimitMEMLOCK=infinity in slurmctld's unit, or grant CAP_IPC_LOCK; see storm_strober(8)");
	else if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		info("cannot lock memory, strobes may be late: %m");
	/* Not for later threads: one of them reads what anybody may send. */
	if (!sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p))
		return;
	info("no real-time priority (%m), strobes may be late: set LimitRTPRIO=%d in slurmctld's unit, or grant CAP_SYS_NICE; see storm_strober(8)",
	     PRIORITY);
	if (setpriority(PRIO_PROCESS, 0, -20))
		debug("cannot lower the nice value either: %m");
}

int strobe_clock_start(int fd, void (*wake)(void))
{
	pthread_condattr_t attr;
	int rc;

	clk.fd = fd;
	clk.wake = wake;
	strobe_be_real_time();
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&clk.cond, &attr);
	pthread_condattr_destroy(&attr);
	clk.pulse = storm_now();
	rc = pthread_create(&clk.thread, NULL, strobe_thread, NULL);
	if (rc)
		error("cannot start the thread that strobes: %s", strerror(rc));
	else
		pthread_setname_np(clk.thread, "storm_clock");
	clk.running = !rc;
	return rc ? -1 : 0;
}

/* Strobe that everything runs, so that nodes need not wait for the silence. */
static void strobe_farewell(void)
{
	const struct timespec pause = { .tv_nsec = 5 * STORM_MS };
	bool said = false;

	pthread_mutex_lock(&clk.lock);
	if (clk.rota)
		rota_pause(clk.rota, strobe_rota_time(storm_now()));
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

void strobe_clock_stop(void)
{
	if (!clk.running)
		return;
	strobe_farewell();
	pthread_mutex_lock(&clk.lock);
	clk.stop = true;
	pthread_cond_signal(&clk.cond);
	pthread_mutex_unlock(&clk.lock);
	pthread_join(clk.thread, NULL);
}

/* ------------------------------------------- calls of the main thread --- */

void strobe_clock_open(storm_domain_t *d)
{
	pthread_mutex_lock(&clk.lock);
	clk.domain = d;
	clk.away = false;
	pthread_mutex_unlock(&clk.lock);
}

void strobe_clock_close(void)
{
	pthread_mutex_lock(&clk.lock);
	clk.domain = NULL;
	clk.number = 0;
	rota_destroy(clk.rota);
	clk.rota = NULL;
	pthread_mutex_unlock(&clk.lock);
}

int strobe_clock_map(struct gang_map *map, uint64_t digest, uint64_t now)
{
	struct rota *r;

	pthread_mutex_lock(&clk.lock);
	r = rota_create(map, digest, clk.rota, strobe_rota_time(now));
	if (r) {
		rota_destroy(clk.rota);
		clk.rota = r;
		strobe_set_lead();
		pthread_cond_signal(&clk.cond);
	}
	pthread_mutex_unlock(&clk.lock);
	return r ? 0 : -1;
}

void strobe_clock_lead(uint64_t ns)
{
	pthread_mutex_lock(&clk.lock);
	clk.wish = ns;
	strobe_set_lead();
	pthread_cond_signal(&clk.cond);
	pthread_mutex_unlock(&clk.lock);
}

void strobe_clock_pulse(uint64_t when)
{
	pthread_mutex_lock(&clk.lock);
	clk.pulse = when;
	if (clk.deaf) {
		clk.look_at = 0;
		pthread_cond_signal(&clk.cond);
	}
	pthread_mutex_unlock(&clk.lock);
}

void strobe_clock_resume(uint64_t now)
{
	pthread_mutex_lock(&clk.lock);
	clk.away = false;
	clk.number = 0;
	if (!clk.deaf)
		rota_continue(clk.rota, strobe_rota_time(now));
	pthread_cond_signal(&clk.cond);
	pthread_mutex_unlock(&clk.lock);
}

/* ------------------------------------------------------------- queries --- */

bool strobe_clock_is_strobing(void)
{
	bool yes;

	pthread_mutex_lock(&clk.lock);
	yes = clk.domain && clk.rota && rota_due(clk.rota) != STORM_NEVER;
	pthread_mutex_unlock(&clk.lock);
	return yes;
}

uint64_t strobe_clock_number(void)
{
	return clk.number;
}

bool strobe_clock_is_away(void)
{
	bool away;

	pthread_mutex_lock(&clk.lock);
	away = clk.away;
	pthread_mutex_unlock(&clk.lock);
	return away;
}

struct strober_frame *strobe_clock_report(void)
{
	struct strober_frame *f = NULL;
	struct strober_report *st;
	struct strober_given *g;
	struct rota_stats rs;
	const struct gang_map *m;
	uint64_t now;
	size_t len = 0;

	pthread_mutex_lock(&clk.lock);
	now = strobe_rota_time(storm_now());
	if (clk.rota && rota_due(clk.rota) != STORM_NEVER) {
		m = rota_map(clk.rota);
		len = sizeof(*f) + sizeof(*st) + m->njobs * sizeof(*g);
		f = calloc(1, len);
	}
	if (f) {
		f->verb = STROBER_REPORT;
		f->len = len - sizeof(*f);
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
			g[i].waited = rota_waited(clk.rota, i, now);
		}
		clk.latest = 0;
	}
	pthread_mutex_unlock(&clk.lock);
	return f;
}
