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

#include "asker.h"
#include "deaf.h"
#include "missed.h"
#include "mute.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/storm_common/gang_map.h"

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

static struct asker asker = ASKER_INIT;

static struct {
	struct missed_ops ops;
	uint32_t nodes, first;
	/* under the lock */
	uint64_t *count;
	struct mute mute;
	bool map_waits;
	/* the thread's own */
	uint64_t *work;
	struct deaf deaf;
	uint32_t looks;
} missed;

/* How many have they missed?  Those that do not answer may hear nothing. */
static void missed_count(const struct storm_idset *in)
{
	struct asker_question question = { &asker, GANG_VAR_MISSED };
	struct storm_idset mute = { 0 };

	missed_round(missed.work, missed.nodes, &missed.first, QUESTIONS,
		     asker_ask, &question, &mute);
	pthread_mutex_lock(&asker.lock);
	memcpy(missed.count, missed.work, missed.nodes * sizeof(*missed.work));
	pthread_mutex_unlock(&asker.lock);
	storm_idset_keep(&mute, in);
	deaf_suspect(&missed.deaf, &mute);
	storm_idset_clear(&mute);
}

static void missed_tell(const struct storm_idset *nodes, enum missed_what what)
{
	for (uint32_t i = 0; i < nodes->count; i++)
		for (uint32_t n = nodes->r[i].first; n <= nodes->r[i].last; n++)
			missed.ops.tell(n, what);
}

static bool missed_a_map_waits(void)
{
	bool waits;

	pthread_mutex_lock(&asker.lock);
	waits = missed.map_waits;
	pthread_mutex_unlock(&asker.lock);
	return waits;
}

static void missed_listen(const struct storm_idset *in, bool all)
{
	struct asker_question question = { &asker, STORM_VAR_HEARTBEAT };
	const struct deaf_view v = { .in = in,
				     .number = missed.ops.number(),
				     .all = all,
				     .waits = missed_a_map_waits(),
				     .ask = asker_ask,
				     .arg = &question };
	struct deaf_news news = { 0 };

	deaf_look(&missed.deaf, &v, &news);
	missed_tell(&news.back, MISSED_BACK);
	missed_tell(&news.gone, MISSED_GONE);
	missed_tell(&news.deaf, MISSED_DEAF);
	missed_tell(&news.mute, MISSED_MUTE);
	deaf_news_clear(&news);
	pthread_mutex_lock(&asker.lock);
	mute_look_ends(&missed.mute, &missed.deaf.mute, storm_now());
	pthread_mutex_unlock(&asker.lock);
}

/* Both questions in turn, so that all nodes are asked no more often for the second. */
static void missed_look(void)
{
	bool due = ++missed.looks % EVERY == 0,
	     other = missed.looks / EVERY % 2;
	struct storm_idset in = { 0 };

	pthread_mutex_lock(&asker.lock);
	mute_look_begins(&missed.mute);
	pthread_mutex_unlock(&asker.lock);
	if (missed.ops.inside(&in))
		return;
	missed_listen(&in, due && other);
	if (due && !other && missed.ops.number())
		missed_count(&in);
	storm_idset_clear(&in);
}

static void *missed_thread(void *arg)
{
	(void) arg;
	while (asker_pause(&asker, asker.turn, storm_now() + DEAF_LOOK))
		missed_look();
	return NULL;
}

static void missed_release(void)
{
	free(missed.count);
	free(missed.work);
	missed.count = missed.work = NULL;
	deaf_clear(&missed.deaf);
	mute_list_clear(&missed.mute);
	missed.nodes = missed.first = missed.looks = 0;
	missed.map_waits = false;
}

int missed_start(storm_domain_t *d, uint32_t nodes,
		 const struct missed_ops *ops)
{
	int err;

	missed_stop();
	missed.ops = *ops;
	missed.count = calloc(nodes + 1, sizeof(*missed.count));
	missed.work = calloc(nodes + 1, sizeof(*missed.work));
	if (!missed.count || !missed.work) {
		missed_release();
		return ENOMEM;
	}
	missed.nodes = nodes;
	err = asker_start(&asker, d, missed_thread);
	if (err)
		missed_release();
	return err;
}

void missed_stop(void)
{
	if (!asker.running)
		return;
	asker_stop(&asker);
	pthread_mutex_lock(&asker.lock);
	missed_release();
	pthread_mutex_unlock(&asker.lock);
}

bool missed_get(uint64_t *count, uint32_t nodes)
{
	bool there;

	pthread_mutex_lock(&asker.lock);
	there = missed.count && nodes <= missed.nodes;
	if (there)
		memcpy(count, missed.count, nodes * sizeof(*count));
	pthread_mutex_unlock(&asker.lock);
	return there;
}

void missed_map_waits(bool waits)
{
	pthread_mutex_lock(&asker.lock);
	missed.map_waits = waits;
	pthread_mutex_unlock(&asker.lock);
}

void missed_mute(bool twice, struct storm_idset *out)
{
	pthread_mutex_lock(&asker.lock);
	mute_nodes_get(&missed.mute, twice, storm_now(), out);
	pthread_mutex_unlock(&asker.lock);
}

void missed_node_moved(uint32_t node)
{
	pthread_mutex_lock(&asker.lock);
	mute_node_moved(&missed.mute, node);
	pthread_mutex_unlock(&asker.lock);
}

void missed_epoch_begins(void)
{
	pthread_mutex_lock(&asker.lock);
	mute_epoch_begins(&missed.mute);
	pthread_mutex_unlock(&asker.lock);
}
