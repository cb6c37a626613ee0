/*
 * session.c - the steps that this srun launches by STORM, found by step id.
 * Threads launch the components of a heterogeneous step at the same time, so
 * there is no "current" step.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <string.h>
#include <time.h>

#include "src/common/slurm_xlator.h"

#include "src/common/bitstring.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/macros.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurm/compat.h"

#include "bcast.h"
#include "known_check.h"
#include "session.h"

#define STARTS_WAIT 500000000 /* ns, far longer than starts take */
#define STARTS_TICK 1000000
#define ABORT_WAIT 1000000000 /* ns, far more than a launch takes */

static pthread_mutex_t sessions_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sessions_released = PTHREAD_COND_INITIALIZER;
static list_t *sessions;

const struct storm_conf *storm_session_conf(const char **why)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct storm_conf loaded;
	static bool done;
	static char *error_text;

	slurm_mutex_lock(&lock);
	if (!done) {
		step_domain_log();
		storm_conf_default(&loaded);
		if (storm_conf_load(&loaded, &error_text) && !error_text)
			error_text = xstrdup("storm.conf is not usable");
		done = true;
	}
	slurm_mutex_unlock(&lock);
	*why = error_text;
	return &loaded;
}

struct storm_session *storm_session_create(const slurm_step_id_t *step_id)
{
	struct storm_session *s = xmalloc(sizeof(*s));
	const char *why;

	s->step_id = *step_id;
	slurm_mutex_init(&s->lock);
	slurm_mutex_init(&s->signals.one);
	slurm_cond_init(&s->cond, NULL);
	storm_record_init(&s->rec, "srun");
	s->rec.job_id = step_id->job_id;
	s->rec.step_id = step_id->step_id;
	s->rec.step_het = step_id->step_het_comp;
	s->conf = storm_session_conf(&why);
	s->odd.conf = s->conf;
	if (why) {
		/* Fallback could not be read: use its default, warn. */
		storm_warn_once(why, LAUNCH_OTHERWISE);
		s->fallback = xstrdup(why);
	}
	slurm_mutex_lock(&sessions_lock);
	if (!sessions)
		sessions = list_create(NULL);
	list_append(sessions, s);
	slurm_mutex_unlock(&sessions_lock);
	return s;
}

static int session_has_step(void *x, void *key)
{
	const struct storm_session *s = x;
	const slurm_step_id_t *id = key;

	return s->step_id.job_id == id->job_id &&
	       s->step_id.step_id == id->step_id &&
	       s->step_id.step_het_comp == id->step_het_comp;
}

struct storm_session *storm_session_find(const slurm_step_id_t *step_id)
{
	struct storm_session *s = NULL;

	slurm_mutex_lock(&sessions_lock);
	if (sessions)
		s = list_find_first(sessions, session_has_step,
				    (void *) step_id);
	slurm_mutex_unlock(&sessions_lock);
	return s;
}

static int session_has_launch(void *x, void *key)
{
	return ((const struct storm_session *) x)->sls == key;
}

struct storm_session *
storm_session_launching(const struct step_launch_state *sls)
{
	struct storm_session *s = NULL;

	slurm_mutex_lock(&sessions_lock);
	if (sessions)
		s = list_find_first(sessions, session_has_launch, (void *) sls);
	slurm_mutex_unlock(&sessions_lock);
	return s;
}

struct storm_session *storm_session_hold(const slurm_step_id_t *step_id)
{
	struct storm_session *s = NULL;

	slurm_mutex_lock(&sessions_lock);
	if (sessions)
		s = list_find_first(sessions, session_has_step,
				    (void *) step_id);
	if (s)
		s->holders++;
	slurm_mutex_unlock(&sessions_lock);
	return s;
}

void storm_session_release(struct storm_session *s)
{
	slurm_mutex_lock(&sessions_lock);
	s->holders--;
	slurm_cond_broadcast(&sessions_released);
	slurm_mutex_unlock(&sessions_lock);
}

static int session_raise_abort(void *x, void *arg)
{
	struct storm_session *s = x;

	slurm_mutex_lock(&s->lock);
	if (!s->abort)
		s->abort_at = storm_now();
	s->abort = true;
	slurm_cond_broadcast(&s->cond);
	slurm_mutex_unlock(&s->lock);
	return 0;
}

void storm_session_abort_all(void)
{
	slurm_mutex_lock(&sessions_lock);
	if (sessions)
		list_for_each(sessions, session_raise_abort, NULL);
	slurm_mutex_unlock(&sessions_lock);
}

bool storm_session_gave_up(const struct storm_session *s)
{
	return s->abort && storm_now() > s->abort_at + ABORT_WAIT;
}

/* Are there tasks whose start was not reported?  Slurm's handlers hold sls->lock while
 * they look for their session.  So the thread that has the sessions' lock does not wait
 * for it: perhaps there are. */
static bool session_awaits_starts(struct step_launch_state *sls)
{
	bool yes;

	if (pthread_mutex_trylock(&sls->lock))
		return true;
	yes = bit_set_count(sls->tasks_started) < sls->tasks_requested;
	slurm_mutex_unlock(&sls->lock);
	return yes;
}

static int session_is_starting(void *x, void *arg)
{
	const struct storm_session *s = x;

	(void) arg;
	return s->sls && !s->fallback && session_awaits_starts(s->sls);
}

void storm_session_await_starts(void)
{
	const struct timespec tick = { .tv_nsec = STARTS_TICK };
	uint64_t end = storm_now() + STARTS_WAIT;
	bool starting;

	/* Poll: the thread that reports starts may need the lock that keeps
	 * the sessions alive. */
	while (storm_now() < end) {
		slurm_mutex_lock(&sessions_lock);
		starting = sessions &&
			   list_find_first(sessions, session_is_starting, NULL);
		slurm_mutex_unlock(&sessions_lock);
		if (!starting)
			break;
		nanosleep(&tick, NULL);
	}
}

static int session_is_same(void *x, void *key)
{
	return x == key;
}

void storm_session_close(struct storm_session *s)
{
	if (!s)
		return;
	slurm_mutex_lock(&sessions_lock);
	list_remove_first(sessions, session_is_same, s);
	slurm_mutex_unlock(&sessions_lock);

	known_check_end();
	storm_session_drop_domain(s);
	slurm_mutex_lock(&sessions_lock);
	while (s->holders)
		slurm_cond_wait(&sessions_released, &sessions_lock);
	slurm_mutex_unlock(&sessions_lock);
	storm_record_clear(&s->rec);
	step_addrs_clear(&s->addrs);
	step_odd_clear(&s->odd);
	xfree(s->libdir);
	xfree(s->fallback);
	xfree(s->faults);
	xfree(s->answer);
	xfree(s->answer_rc);
	xfree(s->task_node);
	xfree(s->task_place);
	FREE_NULL_BITMAP(s->begun);
	FREE_NULL_BITMAP(s->exited);
	FREE_NULL_BITMAP(s->lost);
	FREE_NULL_BITMAP(s->in_time);
	slurm_mutex_destroy(&s->lock);
	slurm_mutex_destroy(&s->signals.one);
	slurm_cond_destroy(&s->cond);
	xfree(s);
}

void storm_session_drop_domain(struct storm_session *s)
{
	struct step_domain *sd = s->domain;

	if (!sd)
		return;
	step_told_close(s);
	step_timed_close(&s->timed);
	storm_record_domain(&s->rec, sd->d);
	step_domain_destroy(sd);
	s->domain = NULL;
	slurm_mutex_lock(&s->lock);
	s->nfaults = 0;
	slurm_mutex_unlock(&s->lock);
}

/* Record a node's answer or loss.  Called with the lock held. */
static void session_settle(struct storm_session *s, uint32_t node,
			   enum storm_answer how, uint32_t rc)
{
	if (node >= s->nanswers)
		return;
	if (s->answer[node] == ANSWER_NONE)
		s->pending--;
	s->answer[node] = how;
	s->answer_rc[node] = rc;
}

void storm_session_delivered(struct storm_session *s,
			     const struct storm_report *r)
{
	uint32_t i, n;

	slurm_mutex_lock(&s->lock);
	for (i = 0; i < r->ids.count; i++)
		for (n = r->ids.r[i].first;
		     n <= r->ids.r[i].last && n < s->nanswers; n++)
			session_settle(s, n, ANSWER_CAME, r->code);
	step_timed_delivered(&s->timed, r);
	slurm_cond_broadcast(&s->cond);
	slurm_mutex_unlock(&s->lock);
}

void storm_session_slot(struct storm_session *s, const struct storm_report *r)
{
	struct storm_span *slot = &s->rec.phase[LAUNCH_PHASE_SLOT];
	uint64_t now = storm_now(), long_ago = (uint64_t) r->code * STORM_MS;

	slurm_mutex_lock(&s->lock);
	/* such a wait cannot be */
	if (long_ago < now && long_ago > slot->end - slot->start) {
		slot->start = now - long_ago;
		slot->end = now;
		step_timed_slot(&s->timed, r);
	}
	slurm_mutex_unlock(&s->lock);
}

void storm_session_fault(struct storm_session *s, const struct storm_fault *f)
{
	bool running = false;
	char *text;

	slurm_mutex_lock(&s->lock);
	xrecalloc(s->faults, s->nfaults + 1, sizeof(*s->faults));
	s->faults[s->nfaults++] = *f;
	if (f->node < s->nanswers) {
		if (s->answer[f->node] == ANSWER_NONE)
			session_settle(s, f->node, ANSWER_LOST, 0);
		else
			running = s->answer[f->node] == ANSWER_CAME;
	}
	step_told_lost(s, f->node);
	slurm_cond_broadcast(&s->cond);
	slurm_mutex_unlock(&s->lock);
	/* fanout.c logs the nodes that have not answered. */
	if (running) {
		text = step_domain_fault(s->domain, f);
		info("warning: storm: %s; if that host lives its tasks continue and report directly to srun, else Slurm notices that within SlurmdTimeout (%u s)",
		     text, slurm_conf.slurmd_timeout);
		xfree(text);
	}
}

void storm_session_expect(struct storm_session *s, uint32_t nodes)
{
	uint32_t i;

	slurm_mutex_lock(&s->lock);
	xfree(s->answer);
	xfree(s->answer_rc);
	s->answer = xcalloc(nodes, sizeof(*s->answer));
	s->answer_rc = xcalloc(nodes, sizeof(*s->answer_rc));
	s->nanswers = s->pending = nodes;
	/* The domain may have lost nodes since the broadcast. */
	for (i = 0; i < s->nfaults; i++)
		if (s->faults[i].node < nodes)
			session_settle(s, s->faults[i].node, ANSWER_LOST, 0);
	slurm_mutex_unlock(&s->lock);
}
