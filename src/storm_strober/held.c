/*
 * held.c - see held.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "held.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/program/domain_private.h"

#define EVERY STORM_SEC		  /* while all stand */
#define SOON (20 * STORM_MS)	  /* while some may need a moment */
#define PATIENCE (300 * STORM_MS) /* until that is over */
#define LATER (200 * STORM_MS)
#define QUESTIONS 200

/* ------------------------------------------------------------ questions --- */

int held_round(const struct storm_idset *P, uint64_t number,
	       unsigned int questions, questions_ask_fn ask, void *arg,
	       struct storm_idset *loose)
{
	struct questions q = { .ask = ask, .arg = arg, .left = questions };
	struct storm_idset all = { 0 };
	int err = storm_idset_union(&all, P);

	if (!err && all.count)
		err = questions_find(&q, &all, STORM_GE, number, loose, loose);
	if (!err)
		err = storm_idset_union(loose, &q.mute);
	storm_idset_clear(&all);
	storm_idset_clear(&q.mute);
	return err ? ENOMEM : 0;
}

int held_nodes(const struct gang_map *m, struct storm_idset *out)
{
	int err = 0;

	for (uint32_t i = 0; i < m->njobs && !err; i++)
		if (gang_job_held(&m->jobs[i]))
			err = storm_idset_union(out, &m->jobs[i].nodes);
	return err ? ENOMEM : 0;
}

/* ------------------------------------------------------------ the thread --- */

static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool running, stop;
	storm_domain_t *domain;
	uint64_t (*number)(void);
	void (*wake)(void);
	/* under the lock: the map by which strobes are */
	uint64_t version;
	uint64_t first; /* such strobe, at the latest; 0: none was sent yet */
	uint64_t turn;	/* changes with these */
	struct storm_idset nodes;
	/* under the lock, too: what is known */
	uint64_t proof;
	struct storm_idset loose;
	bool changed;
} g = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* What the thread is about. */
struct held_work {
	uint64_t turn;
	uint64_t version; /* 0: none */
	uint64_t number;  /* to ask about; 0: nothing yet */
	uint64_t since;	  /* when it last was as it should be */
	/* the last strobe's number a second ago at least, and a later one */
	uint64_t mark, newer, newer_at;
	struct storm_idset nodes;
};

static bool held_is_stopped(void)
{
	bool stop;

	pthread_mutex_lock(&g.lock);
	stop = g.stop;
	pthread_mutex_unlock(&g.lock);
	return stop;
}

static enum storm_compare
held_ask_domain(void *arg, const struct storm_idset *P, enum storm_relation rel,
		uint64_t value, struct storm_outcome *out)
{
	(void) arg;
	if (held_is_stopped())
		return STORM_FAILED;
	return domain_compare_within(g.domain, P, GANG_VAR_HELD, rel, value,
				     QUESTIONS_PATIENCE, out);
}

static bool held_same(const struct storm_idset *a, const struct storm_idset *b)
{
	return a->count == b->count &&
	       (!a->count || !memcmp(a->r, b->r, a->count * sizeof(*a->r)));
}

/* Takes *loose and leaves it empty, unless the map has changed. */
static void held_publish(const struct held_work *w, struct storm_idset *loose)
{
	bool news;

	pthread_mutex_lock(&g.lock);
	if (w->turn != g.turn) {
		pthread_mutex_unlock(&g.lock);
		return; /* it is void by now */
	}
	news = g.proof != w->version || !held_same(&g.loose, loose);
	g.changed |= news;
	g.proof = w->version;
	storm_idset_clear(&g.loose);
	g.loose = *loose;
	memset(loose, 0, sizeof(*loose));
	pthread_mutex_unlock(&g.lock);
	if (news)
		g.wake();
}

/* Locked.  Strobes are by this map already. */
static void held_first(void)
{
	uint64_t number = g.first ? 0 : g.number();

	if (number)
		g.first = number + 1;
}

/* What is asked about becomes newer, also while some nodes do not prove it: else
 * those that did once would be taken to stand for ever. */
static void held_age(struct held_work *w, uint64_t now)
{
	if (w->newer && now < w->newer_at + EVERY)
		return;
	w->mark = w->newer;
	w->newer = g.number();
	w->newer_at = now;
}

/* Take the newest map.  False: it cannot be had now. */
static bool held_renew(struct held_work *w, uint64_t now)
{
	bool good = true;

	pthread_mutex_lock(&g.lock);
	if (w->turn != g.turn || !w->version) {
		storm_idset_clear(&w->nodes);
		good = !storm_idset_union(&w->nodes, &g.nodes);
		w->turn = g.turn;
		w->version = good ? g.version : 0;
		w->mark = w->newer = 0;
		w->since = now;
	}
	held_first();
	held_age(w, now);
	w->number = g.first ? storm_max(g.first, w->mark) : 0;
	pthread_mutex_unlock(&g.lock);
	return good;
}

/* Returns when to ask again. */
static uint64_t held_look(struct held_work *w, uint64_t now)
{
	struct storm_idset loose = { 0 };
	uint64_t next;
	int err;

	if (!held_renew(w, now))
		return now + LATER;
	if (!w->nodes.count) {
		held_publish(w, &loose);
		return STORM_NEVER;
	}
	if (!w->number)
		return now + SOON;
	err = held_round(&w->nodes, w->number, 1, held_ask_domain, NULL,
			 &loose);
	if (!err && !loose.count) {
		w->since = now;
		held_publish(w, &loose);
		return now + EVERY;
	}
	next = now + SOON;
	storm_idset_clear(&loose);
	if (now > w->since + PATIENCE) {
		err = held_round(&w->nodes, w->number, QUESTIONS,
				 held_ask_domain, NULL, &loose);
		if (!err)
			held_publish(w, &loose);
		next = now + LATER;
	}
	storm_idset_clear(&loose);
	return next;
}

/* Wait until then, or for another map.  False: the thread must end. */
static bool held_pause(const struct held_work *w, uint64_t until)
{
	const struct timespec ts = { .tv_sec = until / STORM_SEC,
				     .tv_nsec = until % STORM_SEC };
	int rc = 0;
	bool go;

	pthread_mutex_lock(&g.lock);
	while (!g.stop && g.turn == w->turn && rc != ETIMEDOUT)
		rc = until == STORM_NEVER ?
			     pthread_cond_wait(&g.cond, &g.lock) :
			     pthread_cond_timedwait(&g.cond, &g.lock, &ts);
	go = !g.stop;
	pthread_mutex_unlock(&g.lock);
	return go;
}

static void *held_thread(void *arg)
{
	struct held_work w = { 0 };
	uint64_t next = STORM_NEVER;

	(void) arg;
	while (held_pause(&w, next))
		next = held_look(&w, storm_now());
	storm_idset_clear(&w.nodes);
	return NULL;
}

int held_start(storm_domain_t *d, uint64_t (*number)(void), void (*wake)(void))
{
	pthread_condattr_t attr;
	int err;

	held_stop();
	g.domain = d;
	g.number = number;
	g.wake = wake;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&g.cond, &attr);
	pthread_condattr_destroy(&attr);
	err = pthread_create(&g.thread, NULL, held_thread, NULL);
	g.running = !err;
	return err;
}

void held_stop(void)
{
	if (g.running) {
		pthread_mutex_lock(&g.lock);
		g.stop = true;
		pthread_cond_signal(&g.cond);
		pthread_mutex_unlock(&g.lock);
		pthread_join(g.thread, NULL);
		pthread_cond_destroy(&g.cond);
	}
	pthread_mutex_lock(&g.lock);
	storm_idset_clear(&g.nodes);
	storm_idset_clear(&g.loose);
	g.version = g.first = g.proof = 0;
	g.turn++;
	g.running = g.stop = false;
	g.changed = true;
	pthread_mutex_unlock(&g.lock);
}

void held_map(uint64_t version, struct storm_idset *nodes)
{
	pthread_mutex_lock(&g.lock);
	if (g.running) {
		g.first = 0;
		held_first();
		g.turn++;
		g.version = version;
		storm_idset_clear(&g.nodes);
		g.nodes = *nodes;
		memset(nodes, 0, sizeof(*nodes));
		g.changed = true;
		pthread_cond_signal(&g.cond);
	}
	pthread_mutex_unlock(&g.lock);
	storm_idset_clear(nodes);
}

void held_again(void)
{
	pthread_mutex_lock(&g.lock);
	if (g.running) {
		g.first = g.proof = 0;
		g.turn++;
		g.changed = true;
		pthread_cond_signal(&g.cond);
	}
	pthread_mutex_unlock(&g.lock);
}

bool held_get(uint64_t *force, uint64_t *proof, struct storm_idset *loose)
{
	bool changed;

	pthread_mutex_lock(&g.lock);
	changed = g.changed;
	g.changed = false;
	*force = g.version;
	*proof = g.proof;
	if (storm_idset_union(loose, &g.loose))
		*proof = 0;
	pthread_mutex_unlock(&g.lock);
	return changed;
}
