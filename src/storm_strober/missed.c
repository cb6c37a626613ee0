/*
 * missed.c - count missed strobes, and find the nodes that hear none: see
 * missed.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "deaf.h"
#include "missed.h"
#include "src/storm_common/gang_map.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/program/domain_private.h"

#define EVERY 3 /* looks: then all nodes are asked one question */
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
			  void *arg, struct storm_idset *mute)
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
	*mute = r.q.mute;
	return r.q.asked;
}

/* ---------------------------------------------------------- the thread --- */

static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool running, stop;
	storm_domain_t *domain;
	struct missed_ops ops;
	uint32_t nodes, first;
	/* under the lock */
	uint64_t *count;
	struct storm_idset mute;
	/* the thread's own */
	uint64_t *work;
	struct deaf deaf;
	uint32_t looks;
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
	if (missed_is_stopped())
		return STORM_FAILED;
	return domain_compare_within(g.domain, P, *(const uint32_t *) arg, rel,
				     value, QUESTIONS_PATIENCE, out);
}

/* Wait for the next look.  False: the thread must end. */
static bool missed_pause(void)
{
	uint64_t until = storm_now() + DEAF_LOOK;
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

/* How many have they missed?  Those that do not answer may hear nothing. */
static void missed_count(const struct storm_idset *in)
{
	static const uint32_t var = GANG_VAR_MISSED;
	struct storm_idset mute = { 0 };

	missed_round(g.work, g.nodes, &g.first, QUESTIONS, missed_ask_domain,
		     (void *) &var, &mute);
	pthread_mutex_lock(&g.lock);
	memcpy(g.count, g.work, g.nodes * sizeof(*g.work));
	pthread_mutex_unlock(&g.lock);
	storm_idset_keep(&mute, in);
	deaf_suspect(&g.deaf, &mute);
	storm_idset_clear(&mute);
}

static void missed_tell(const struct storm_idset *nodes, enum missed_what what)
{
	for (uint32_t i = 0; i < nodes->count; i++)
		for (uint32_t n = nodes->r[i].first; n <= nodes->r[i].last; n++)
			g.ops.tell(n, what);
}

static void missed_listen(const struct storm_idset *in, bool all)
{
	static const uint32_t var = STORM_VAR_HEARTBEAT;
	const struct deaf_view v = { .in = in,
				     .number = g.ops.number(),
				     .all = all,
				     .ask = missed_ask_domain,
				     .arg = (void *) &var };
	struct deaf_news news = { 0 };

	deaf_look(&g.deaf, &v, &news);
	missed_tell(&news.back, MISSED_BACK);
	missed_tell(&news.gone, MISSED_GONE);
	missed_tell(&news.deaf, MISSED_DEAF);
	missed_tell(&news.mute, MISSED_MUTE);
	deaf_news_clear(&news);
	pthread_mutex_lock(&g.lock);
	storm_idset_clear(&g.mute);
	storm_idset_union(&g.mute, &g.deaf.mute);
	pthread_mutex_unlock(&g.lock);
}

/* Both questions in turn, so that all nodes are asked no more often for the second. */
static void missed_look(void)
{
	bool due = ++g.looks % EVERY == 0, other = g.looks / EVERY % 2;
	struct storm_idset in = { 0 };

	if (g.ops.inside(&in))
		return;
	missed_listen(&in, due && other);
	if (due && !other && g.ops.number())
		missed_count(&in);
	storm_idset_clear(&in);
}

static void *missed_thread(void *arg)
{
	(void) arg;
	while (missed_pause())
		missed_look();
	return NULL;
}

static void missed_release(void)
{
	free(g.count);
	free(g.work);
	g.count = g.work = NULL;
	deaf_clear(&g.deaf);
	storm_idset_clear(&g.mute);
	g.nodes = g.first = g.looks = 0;
	g.running = g.stop = false;
}

int missed_start(storm_domain_t *d, uint32_t nodes,
		 const struct missed_ops *ops)
{
	pthread_condattr_t attr;
	int err;

	missed_stop();
	g.domain = d;
	g.ops = *ops;
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

void missed_mute(struct storm_idset *out)
{
	pthread_mutex_lock(&g.lock);
	storm_idset_union(out, &g.mute);
	pthread_mutex_unlock(&g.lock);
}
