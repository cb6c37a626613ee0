/*
 * held.c - see held.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "asker.h"
#include "held.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

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

static struct asker asker = ASKER_INIT;

static struct {
	uint64_t (*number)(void);
	void (*wake)(void);
	/* under the lock: the map by which strobes are */
	uint64_t version;
	uint64_t first; /* such strobe, at the latest; 0: none was sent yet */
	struct storm_idset nodes;
	/* what is known, under the lock, too */
	uint64_t proof;
	struct storm_idset loose;
	bool changed;
} held;

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

static bool held_same(const struct storm_idset *a, const struct storm_idset *b)
{
	return a->count == b->count &&
	       (!a->count || !memcmp(a->r, b->r, a->count * sizeof(*a->r)));
}

/* Takes *loose and leaves it empty, unless the map has changed. */
static void held_publish(const struct held_work *w, struct storm_idset *loose)
{
	bool news;

	pthread_mutex_lock(&asker.lock);
	if (w->turn != asker.turn) {
		pthread_mutex_unlock(&asker.lock);
		return; /* it is void by now */
	}
	news = held.proof != w->version || !held_same(&held.loose, loose);
	held.changed |= news;
	held.proof = w->version;
	storm_idset_clear(&held.loose);
	held.loose = *loose;
	memset(loose, 0, sizeof(*loose));
	pthread_mutex_unlock(&asker.lock);
	if (news)
		held.wake();
}

/* Locked.  Strobes are by this map already. */
static void held_first(void)
{
	uint64_t number = held.first ? 0 : held.number();

	if (number)
		held.first = number + 1;
}

/* What is asked about becomes newer, also while some nodes do not prove it: else
 * those that did once would be taken to stand for ever. */
static void held_age(struct held_work *w, uint64_t now)
{
	if (w->newer && now < w->newer_at + EVERY)
		return;
	w->mark = w->newer;
	w->newer = held.number();
	w->newer_at = now;
}

/* Take the newest map.  False: it cannot be had now. */
static bool held_renew(struct held_work *w, uint64_t now)
{
	bool good = true;

	pthread_mutex_lock(&asker.lock);
	if (w->turn != asker.turn || !w->version) {
		storm_idset_clear(&w->nodes);
		good = !storm_idset_union(&w->nodes, &held.nodes);
		w->turn = asker.turn;
		w->version = good ? held.version : 0;
		w->mark = w->newer = 0;
		w->since = now;
	}
	held_first();
	held_age(w, now);
	w->number = held.first ? storm_max(held.first, w->mark) : 0;
	pthread_mutex_unlock(&asker.lock);
	return good;
}

/* Returns when to ask again. */
static uint64_t held_look(struct held_work *w, uint64_t now)
{
	struct asker_question question = { &asker, GANG_VAR_HELD };
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
	err = held_round(&w->nodes, w->number, 1, asker_ask, &question, &loose);
	if (!err && !loose.count) {
		w->since = now;
		held_publish(w, &loose);
		return now + EVERY;
	}
	next = now + SOON;
	storm_idset_clear(&loose);
	if (now > w->since + PATIENCE) {
		err = held_round(&w->nodes, w->number, QUESTIONS, asker_ask,
				 &question, &loose);
		if (!err)
			held_publish(w, &loose);
		next = now + LATER;
	}
	storm_idset_clear(&loose);
	return next;
}

static void *held_thread(void *arg)
{
	struct held_work w = { 0 };
	uint64_t next = STORM_NEVER;

	(void) arg;
	while (asker_pause(&asker, w.turn, next))
		next = held_look(&w, storm_now());
	storm_idset_clear(&w.nodes);
	return NULL;
}

int held_start(storm_domain_t *d, uint64_t (*number)(void), void (*wake)(void))
{
	held_stop();
	held.number = number;
	held.wake = wake;
	return asker_start(&asker, d, held_thread);
}

void held_stop(void)
{
	asker_stop(&asker);
	pthread_mutex_lock(&asker.lock);
	storm_idset_clear(&held.nodes);
	storm_idset_clear(&held.loose);
	held.version = held.first = held.proof = 0;
	asker_renew(&asker);
	held.changed = true;
	pthread_mutex_unlock(&asker.lock);
}

void held_map(uint64_t version, struct storm_idset *nodes)
{
	pthread_mutex_lock(&asker.lock);
	if (asker.running) {
		held.first = 0;
		held_first();
		asker_renew(&asker);
		held.version = version;
		storm_idset_clear(&held.nodes);
		held.nodes = *nodes;
		memset(nodes, 0, sizeof(*nodes));
		held.changed = true;
	}
	pthread_mutex_unlock(&asker.lock);
	storm_idset_clear(nodes);
}

void held_again(void)
{
	pthread_mutex_lock(&asker.lock);
	if (asker.running) {
		held.first = held.proof = 0;
		asker_renew(&asker);
		held.changed = true;
	}
	pthread_mutex_unlock(&asker.lock);
}

bool held_get(uint64_t *force, uint64_t *proof, struct storm_idset *loose)
{
	bool changed;

	pthread_mutex_lock(&asker.lock);
	changed = held.changed;
	held.changed = false;
	*force = held.version;
	*proof = held.proof;
	if (storm_idset_union(loose, &held.loose))
		*proof = 0;
	pthread_mutex_unlock(&asker.lock);
	return changed;
}
