/*
 * unwell.c - see unwell.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "asker.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/storm_common/health_word.h"
#include "unwell.h"

#define QUESTIONS 200
#define SOON STORM_SEC /* when a round's questions did not suffice */

/* ------------------------------------------------------------ questions --- */

struct unwell_asked {
	uint64_t *value;
	uint64_t guess; /* what another node was found to have */
	struct questions q;
};

static void unwell_set(struct unwell_asked *u, const struct storm_idset *P,
		       uint64_t value)
{
	for (uint32_t i = 0; i < P->count; i++)
		for (uint32_t n = P->r[i].first; n <= P->r[i].last; n++)
			u->value[n] = value;
}

/* Find one node's value.  It has usually risen a little; one of a new agent is less. */
static void unwell_find_one(struct unwell_asked *u, struct storm_idset *one,
			    uint64_t was)
{
	uint32_t node = one->r[0].first;
	uint64_t low = was, step = HEALTH_CAUSES, high;
	int yes = questions_is_so(&u->q, one, STORM_GE, was);

	if (yes > 0) {
		while ((yes = questions_is_so(&u->q, one, STORM_GE,
					      low + step)) > 0) {
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

		yes = questions_is_so(&u->q, one, STORM_GE, mid);
		if (yes > 0)
			low = mid;
		else
			high = mid - 1;
	}
	if (yes >= 0)
		u->value[node] = u->guess = low;
}

/* The nodes of P, which all had this value.  Many of those that have changed have the
 * same new one: a file system hangs for all. */
static void unwell_find(struct unwell_asked *u, struct storm_idset *P,
			uint64_t was)
{
	struct storm_idset part = { 0 };
	int yes = 0;

	if (P->count <= STORM_SET_RANGES) {
		yes = questions_is_so(&u->q, P, STORM_EQ, was);
		if (!yes && u->guess != was) {
			yes = questions_is_so(&u->q, P, STORM_EQ, u->guess);
			if (yes > 0)
				unwell_set(u, P, u->guess);
		}
		if (yes || !P->count)
			return; /* or no questions are left */
	}
	if (storm_idset_size(P) == 1) {
		unwell_find_one(u, P, was);
		return;
	}
	for (int second = 0; second < 2; second++) {
		if (!questions_half(P, second, &part))
			unwell_find(u, &part, was);
		storm_idset_clear(&part);
	}
}

/* The nodes `in` that have this value and are not in `seen`. */
static int unwell_alike(const struct unwell_asked *u, uint64_t value,
			const struct storm_idset *in,
			const struct storm_idset *seen, struct storm_idset *out)
{
	int err = 0;

	for (uint32_t i = 0; i < in->count; i++)
		for (uint32_t n = in->r[i].first; !err && n <= in->r[i].last;
		     n++)
			if (u->value[n] == value && !storm_idset_has(seen, n))
				err = storm_idset_add(out, n, n);
	return err;
}

unsigned int unwell_round(uint64_t *value, uint32_t nodes,
			  const struct storm_idset *in, unsigned int questions,
			  questions_ask_fn ask, void *arg)
{
	struct unwell_asked u = {
		.value = value,
		.q = { .ask = ask, .arg = arg, .left = questions }
	};
	struct storm_idset seen = { 0 }, some = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < in->count && !err; i++)
		for (uint32_t n = in->r[i].first;
		     n <= in->r[i].last && n < nodes && !err; n++) {
			uint64_t was = value[n];

			if (storm_idset_has(&seen, n))
				continue;
			err = unwell_alike(&u, was, in, &seen, &some);
			if (!err)
				err = storm_idset_union(&seen, &some);
			u.guess = was;
			if (!err)
				unwell_find(&u, &some, was);
			storm_idset_clear(&some);
		}
	storm_idset_clear(&seen);
	storm_idset_clear(&u.q.mute);
	return u.q.asked;
}

/* ------------------------------------------------------------ the thread --- */

static struct asker asker = ASKER_INIT;

static struct {
	int (*inside)(struct storm_idset *in);
	void (*wake)(void);
	uint64_t period;
	uint32_t nodes;
	/* under the lock */
	uint64_t *value;
	bool changed;
	/* the thread's own */
	uint64_t *work;
} unwell;

/* Publish the causes. */
static void unwell_publish(void)
{
	bool news = false;

	pthread_mutex_lock(&asker.lock);
	for (uint32_t i = 0; i < unwell.nodes; i++) {
		news |= health_cause_of(unwell.value[i]) !=
			health_cause_of(unwell.work[i]);
		unwell.value[i] = unwell.work[i];
	}
	unwell.changed |= news;
	pthread_mutex_unlock(&asker.lock);
	if (news)
		unwell.wake();
}

/* Returns when to look again. */
static uint64_t unwell_look(void)
{
	struct asker_question question = { &asker, HEALTH_VAR };
	struct storm_idset in = { 0 };
	unsigned int asked = 0;

	if (!unwell.inside(&in))
		asked = unwell_round(unwell.work, unwell.nodes, &in, QUESTIONS,
				     asker_ask, &question);
	storm_idset_clear(&in);
	unwell_publish();
	return storm_now() + (asked < QUESTIONS ? unwell.period : SOON);
}

static void *unwell_thread(void *arg)
{
	uint64_t next = storm_now() + SOON;

	(void) arg;
	while (asker_pause(&asker, asker.turn, next))
		next = unwell_look();
	return NULL;
}

static void unwell_release(void)
{
	free(unwell.value);
	free(unwell.work);
	unwell.value = unwell.work = NULL;
	unwell.nodes = 0;
	unwell.changed = true;
}

int unwell_start(storm_domain_t *d, uint32_t nodes, uint64_t period,
		 int (*inside)(struct storm_idset *in), void (*wake)(void))
{
	int err = ENOMEM;

	unwell_stop();
	unwell.inside = inside;
	unwell.wake = wake;
	unwell.period = period;
	unwell.value = calloc(nodes + 1, sizeof(*unwell.value));
	unwell.work = calloc(nodes + 1, sizeof(*unwell.work));
	unwell.nodes = nodes;
	if (unwell.value && unwell.work)
		err = asker_start(&asker, d, unwell_thread);
	if (err)
		unwell_release();
	return err;
}

void unwell_stop(void)
{
	if (!asker.running)
		return;
	asker_stop(&asker);
	pthread_mutex_lock(&asker.lock);
	unwell_release();
	pthread_mutex_unlock(&asker.lock);
}

bool unwell_changed(void)
{
	bool changed;

	pthread_mutex_lock(&asker.lock);
	changed = unwell.changed;
	unwell.changed = false;
	pthread_mutex_unlock(&asker.lock);
	return changed;
}

uint32_t unwell_get(struct strober_failed *list, uint32_t n)
{
	uint32_t count = n, at = n;

	pthread_mutex_lock(&asker.lock);
	/* from the end, where the room is */
	for (uint32_t i = 0, k = 0; i < unwell.nodes; i++) {
		while (k < n && list[k].node < i)
			k++;
		count += health_cause_of(unwell.value[i]) &&
			 (k == n || list[k].node != i);
	}
	at = count;
	for (uint32_t i = unwell.nodes; i-- && at > n;) {
		while (n && list[n - 1].node > i)
			list[--at] = list[--n];
		if (!health_cause_of(unwell.value[i]) ||
		    (n && list[n - 1].node == i))
			continue;
		list[--at] = (struct strober_failed) {
			.node = i,
			.state = STROBER_UNWELL,
			.cause = (uint16_t) health_cause_of(unwell.value[i]),
		};
	}
	pthread_mutex_unlock(&asker.lock);
	return count;
}
