/*
 * start_watch.c - see start_watch.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "src/common/slurm_xlator.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "slurm/slurm_errno.h"
#include "src/api/step_launch.h"
#include "src/common/log.h"
#include "src/common/macros.h"
#include "src/common/xmalloc.h"

#include "src/libstorm/base/thread.h"
#include "src/slurm/step_query.h"
#include "start_watch.h"

#define FIRST 25 /* s; no slurmstepd has given up before */
#define AGAIN 15 /* s */

struct start_watch {
	slurm_step_id_t id;
	struct step_launch_state *sls;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool end, aborted;
};

/* False: it is to end. */
static bool start_watch_sleep(struct start_watch *w, int seconds)
{
	struct timespec until;
	bool go_on;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	slurm_mutex_lock(&w->lock);
	while (!w->end && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&w->cond, &w->lock, &until);
	go_on = !w->end;
	slurm_mutex_unlock(&w->lock);
	return go_on;
}

/* Does slurmctld say that there is no such step? */
static bool start_watch_is_over(const slurm_step_id_t *id)
{
	job_step_info_response_msg_t *steps = NULL;
	bool over;

	if (step_query(id, &steps))
		return errno == ESLURM_INVALID_JOB_ID;
	over = !steps->job_step_count;
	slurm_free_job_step_info_response_msg(steps);
	return over;
}

static void start_watch_abort(const struct start_watch *w)
{
	struct step_launch_state *sls = w->sls;

	slurm_mutex_lock(&sls->lock);
	error("storm: slurmctld has no step %u.%u any more, and only %d of %d tasks have reported their start: slurmd.log of the other nodes says why; if slurmstepd could not connect, open SrunPortRange to the nodes",
	      w->id.job_id, w->id.step_id, bit_set_count(sls->tasks_started),
	      sls->tasks_requested);
	sls->abort = true;
	slurm_cond_broadcast(&sls->cond);
	slurm_mutex_unlock(&sls->lock);
}

static void *start_watch_run(void *arg)
{
	struct start_watch *w = arg;
	bool over = false;

	/* twice: a step's end and its last report cross on their ways */
	for (int s = FIRST; start_watch_sleep(w, s); s = AGAIN) {
		if (!start_watch_is_over(&w->id)) {
			over = false;
		} else if (over) {
			start_watch_abort(w);
			w->aborted = true;
			break;
		} else {
			over = true;
		}
	}
	return NULL;
}

struct start_watch *start_watch_begin(const slurm_step_id_t *id,
				      struct step_launch_state *sls)
{
	struct start_watch *w;
	pthread_condattr_t attr;

	if (getenv("SLURM_STEPMGR"))
		return NULL;
	w = xmalloc(sizeof(*w));
	w->id = *id;
	w->sls = sls;
	slurm_mutex_init(&w->lock);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->cond, &attr);
	pthread_condattr_destroy(&attr);
	if (!storm_thread_start(&w->thread, start_watch_run, w))
		return w;
	xfree(w);
	return NULL;
}

bool start_watch_end(struct start_watch *w)
{
	bool aborted;

	if (!w)
		return false;
	slurm_mutex_lock(&w->lock);
	w->end = true;
	pthread_cond_signal(&w->cond);
	slurm_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	aborted = w->aborted;
	pthread_cond_destroy(&w->cond);
	slurm_mutex_destroy(&w->lock);
	xfree(w);
	return aborted;
}
