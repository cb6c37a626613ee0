/*
 * missed.c - count missed strobes: see missed.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "missed.h"
#include "src/storm_common/gang_map.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"

#define EVERY (3 * STORM_SEC)
#define QUESTIONS 200

struct round {
	uint64_t *count;
	uint32_t nodes;
	struct questions q;
};

static int missed_at_least(struct round *r, uint32_t node, uint64_t value)
{
	struct storm_idset one = { 0 };
	int yes = storm_idset_add(&one, node, node) ?
			  -1 :
			  questions_is_so(&r->q, &one, STORM_GE, value);

	storm_idset_clear(&one);
	return yes;
}

/* Find a node's count, which has changed.  It is usually a little more than
 * before, or less if the node has a new agent. */
static void missed_find_count(struct round *r, uint32_t node)
{
	uint64_t was = r->count[node], low = was + 1, step = 1, high;
	int yes = missed_at_least(r, node, low);

	if (yes > 0) {
		while ((yes = missed_at_least(r, node, low + step)) > 0) {
			low += step;
			step *= 2;
		}
		high = low + step - 1;
	} else {
		low = 0;
		high = was ? was - 1 : 0;
	}
	while (yes >= 0 && low < high) {
		uint64_t mid = low + (high - low + 1) / 2;

		yes = missed_at_least(r, node, mid);
		if (yes > 0)
			low = mid;
		else
			high = mid - 1;
	}
	if (yes >= 0)
		r->count[node] = low;
}

/* Find which nodes of P, whose counts were all `value`, have another count. */
static void missed_find_changed(struct round *r, struct storm_idset *P,
				uint64_t value)
{
	struct storm_idset part = { 0 };
	int yes = questions_is_so(&r->q, P, STORM_EQ, value);

	if (yes)
		return;
	if (storm_idset_size(P) == 1) {
		missed_find_count(r, P->r[0].first);
		return;
	}
	for (int odd = 0; odd < 2; odd++) {
		if (!questions_half(P, odd, &part))
			missed_find_changed(r, &part, value);
		storm_idset_clear(&part);
	}
}

/* The nodes with the same count as this one, but for those in `seen`. */
static int missed_alike(const struct round *r, uint32_t node,
			const struct storm_idset *seen, struct storm_idset *out)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < r->nodes; i++)
		if (r->count[i] == r->count[node] && !storm_idset_has(seen, i))
			err = storm_idset_add(out, i, i);
	return err;
}

unsigned int missed_round(uint64_t *count, uint32_t nodes, uint32_t *first,
			  unsigned int questions, questions_ask_fn ask,
			  void *arg)
{
	struct round r = { .count = count,
			   .nodes = nodes,
			   .q = { .ask = ask, .arg = arg, .left = questions } };
	struct storm_idset seen = { 0 }, some = { 0 }, P = { 0 };
	uint32_t i = 0;
	int err = 0;

	for (; !err && i < nodes && r.q.left; i++) {
		uint32_t n = (*first + i) % nodes;
		uint64_t value = count[n];

		if (storm_idset_has(&seen, n))
			continue;
		err = missed_alike(&r, n, &seen, &some);
		if (!err)
			err = storm_idset_union(&seen, &some);
		if (!err)
			err = storm_idset_minus(&some, &r.q.mute, &P);
		if (!err)
			missed_find_changed(&r, &P, value);
		storm_idset_clear(&some);
		storm_idset_clear(&P);
	}
	/* the next round begins with the node at which the questions ran out */
	if (!r.q.left && i)
		*first = (*first + i - 1) % nodes;
	storm_idset_clear(&seen);
	storm_idset_clear(&r.q.mute);
	return r.q.asked;
}

/* ---------------------------------------------------------- the thread --- */

static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool running, stop;
	storm_domain_t *domain;
	bool (*shared)(void);
	uint32_t nodes, first;
	uint64_t *count; /* for missed_get(), under the lock */
	uint64_t *work;	 /* the thread's own */
} g = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool missed_is_stopped(void)
{
	bool stop;

	pthread_mutex_lock(&g.lock);
	stop = g.stop;
	pthread_mutex_unlock(&g.lock);
	return stop;
}

static enum storm_compare missed_ask_domain(void *arg,
					    const struct storm_idset *P,
					    enum storm_relation rel,
					    uint64_t value,
					    struct storm_outcome *out)
{
	(void) arg;
	if (missed_is_stopped())
		return STORM_FAILED;
	return storm_compare_and_write(g.domain, P, GANG_VAR_MISSED, rel, value,
				       NULL, out);
}

/* Wait for the next round.  False: the thread must end. */
static bool missed_pause(void)
{
	uint64_t until = storm_now() + EVERY;
	const struct timespec ts = { .tv_sec = until / STORM_SEC,
				     .tv_nsec = until % STORM_SEC };
	int rc = 0;
	bool go;

	pthread_mutex_lock(&g.lock);
	while (!g.stop && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&g.cond, &g.lock, &ts);
	go = !g.stop;
	pthread_mutex_unlock(&g.lock);
	return go;
}

static void *missed_thread(void *arg)
{
	(void) arg;
	while (missed_pause()) {
		if (!g.shared())
			continue;
		missed_round(g.work, g.nodes, &g.first, QUESTIONS,
			     missed_ask_domain, NULL);
		pthread_mutex_lock(&g.lock);
		memcpy(g.count, g.work, g.nodes * sizeof(*g.work));
		pthread_mutex_unlock(&g.lock);
	}
	return NULL;
}

static void missed_release(void)
{
	free(g.count);
	free(g.work);
	g.count = g.work = NULL;
	g.nodes = g.first = 0;
	g.running = g.stop = false;
}

int missed_start(storm_domain_t *d, uint32_t nodes, bool (*shared)(void))
{
	pthread_condattr_t attr;
	int err;

	missed_stop();
	g.domain = d;
	g.shared = shared;
	g.count = calloc(nodes + 1, sizeof(*g.count));
	g.work = calloc(nodes + 1, sizeof(*g.work));
	if (!g.count || !g.work) {
		missed_release();
		return ENOMEM;
	}
	g.nodes = nodes;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&g.cond, &attr);
	pthread_condattr_destroy(&attr);
	err = pthread_create(&g.thread, NULL, missed_thread, NULL);
	g.running = !err;
	if (err)
		missed_release();
	return err;
}

void missed_stop(void)
{
	if (!g.running)
		return;
	pthread_mutex_lock(&g.lock);
	g.stop = true;
	pthread_cond_signal(&g.cond);
	pthread_mutex_unlock(&g.lock);
	pthread_join(g.thread, NULL);
	pthread_cond_destroy(&g.cond);
	pthread_mutex_lock(&g.lock);
	missed_release();
	pthread_mutex_unlock(&g.lock);
}

bool missed_get(uint64_t *count, uint32_t nodes)
{
	bool there;

	pthread_mutex_lock(&g.lock);
	there = g.count && nodes <= g.nodes;
	if (there)
		memcpy(count, g.count, nodes * sizeof(*count));
	pthread_mutex_unlock(&g.lock);
	return there;
}
