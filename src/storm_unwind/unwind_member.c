/*
 * unwind_member.c - see unwind_member.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "unwind_member.h"

#define LINGER STORM_SEC
/* The whole of a subtree goes up when it is there.  A part waits so long for it. */
#define HOLD (20 * STORM_MS)

struct member_question {
	struct stack_want w[STACK_WANTS];
	uint32_t count;
	bool last;
};
#define QUESTIONS 4 /* the asker sends one when the one before is over */

/* What libstorm's thread has heard. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t came;
	char order;	/* the last one, or 0 */
	uint64_t heard; /* ns; when */
	bool closed;
	struct member_question asked[QUESTIONS];
	uint32_t first, count; /* of these */
	storm_node_t *node;
	storm_member_t *of; /* the session; the tracer's */
} member = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void member_on_strobe(void *arg, storm_member_t *m, uint64_t number,
			     const void *buf, size_t len)
{
	(void) arg;
	(void) m;
	(void) number;
	if (len != 1)
		return;
	pthread_mutex_lock(&member.lock);
	member.order = *(const char *) buf;
	member.heard = storm_now();
	pthread_cond_broadcast(&member.came);
	pthread_mutex_unlock(&member.lock);
}

static void member_on_signal(void *arg, storm_member_t *m, uint32_t event,
			     const void *buf, size_t len)
{
	struct member_question *q;

	(void) arg;
	(void) m;
	if (event != STACK_TELL || !buf)
		return;
	pthread_mutex_lock(&member.lock);
	q = &member.asked[(member.first + member.count) % QUESTIONS];
	if (member.count < QUESTIONS &&
	    stack_wants_read(buf, len, &q->last, q->w, &q->count))
		member.count++;
	pthread_cond_broadcast(&member.came);
	pthread_mutex_unlock(&member.lock);
}

static void member_on_close(void *arg, storm_member_t *m)
{
	(void) arg;
	(void) m;
	pthread_mutex_lock(&member.lock);
	member.closed = true;
	pthread_cond_broadcast(&member.came);
	pthread_mutex_unlock(&member.lock);
}

/* The asker says what is wrong. */
static void member_log(enum storm_log_level level, const char *msg)
{
	(void) level;
	(void) msg;
}

bool member_start(const char *name, uint16_t port, struct storm_addr *at)
{
	struct storm_node_conf conf = {
		.name = name,
		.owner_uid = geteuid(),
		.on_strobe = member_on_strobe,
		.on_signal = member_on_signal,
		.on_close = member_on_close,
	};
	pthread_condattr_t attr;
	uint16_t first, last;
	int err;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&member.came, &attr);
	pthread_condattr_destroy(&attr);
	storm_log_set(member_log);
	stack_settings(&conf.set, &first, &last);
	conf.set.port = port;
	member.node = storm_node_create(&conf, &err);
	if (member.node)
		storm_node_address(member.node, at);
	return member.node != NULL;
}

bool member_wait(enum stack_order_byte order, uint64_t until, uint64_t silence)
{
	bool waits = member.node != NULL, there;

	pthread_mutex_lock(&member.lock);
	while (waits && member.order != (char) order) {
		uint64_t end = until, now = storm_now();
		struct timespec at;

		if (silence && member.heard + silence < end)
			end = member.heard + silence;
		at.tv_sec = (time_t) (end / STORM_SEC);
		at.tv_nsec = (long) (end % STORM_SEC);
		waits = now < end && !(silence && member.closed);
		if (waits)
			pthread_cond_timedwait(&member.came, &member.lock, &at);
	}
	there = member.order == (char) order;
	pthread_mutex_unlock(&member.lock);
	if (there && !member.of)
		member.of = storm_node_accept(member.node, false, 0);
	return there;
}

bool member_is_closed(void)
{
	bool closed;

	pthread_mutex_lock(&member.lock);
	closed = member.closed;
	pthread_mutex_unlock(&member.lock);
	return closed;
}

void member_tell(enum stack_stage stage)
{
	if (member.of)
		storm_member_own_set(member.of, STACK_VARIABLE, stage);
}

bool member_place(uint32_t *place)
{
	struct storm_member_info info;

	if (!member.of || storm_member_hold(member.of, HOLD))
		return false;
	storm_member_info(member.of, &info);
	*place = info.node;
	return true;
}

bool member_report(uint8_t kind, uint32_t code, const struct storm_idset *ids)
{
	struct storm_member_info info;
	struct storm_range one;
	const struct storm_idset own = { &one, 1, 1 };
	int err;

	storm_member_info(member.of, &info);
	one = (struct storm_range) { info.node, info.node };
	err = storm_member_report(member.of, kind, code, ids ? ids : &own);
	return !err || err == STORM_ETOOBIG;
}

void member_stood(uint64_t ms)
{
	storm_member_own_set(member.of, STACK_STOOD, ms);
}

bool member_asked(struct stack_want (*w)[STACK_WANTS], uint32_t *count,
		  bool *last, uint64_t until)
{
	struct timespec at = { (time_t) (until / STORM_SEC),
			       (long) (until % STORM_SEC) };
	bool there;
	int rc = 0;

	pthread_mutex_lock(&member.lock);
	while (!member.count && !member.closed && !rc)
		rc = pthread_cond_timedwait(&member.came, &member.lock, &at);
	there = member.count > 0;
	if (there) {
		const struct member_question *q = &member.asked[member.first];

		memcpy(*w, q->w, sizeof(*w));
		*count = q->count;
		*last = q->last;
		member.first = (member.first + 1) % QUESTIONS;
		member.count--;
	}
	pthread_mutex_unlock(&member.lock);
	return there;
}

void member_stop(void)
{
	uint64_t until = storm_now() + LINGER;
	struct timespec at = { (time_t) (until / STORM_SEC),
			       (long) (until % STORM_SEC) };
	int rc = 0;

	pthread_mutex_lock(&member.lock);
	while (member.of && !member.closed && !rc)
		rc = pthread_cond_timedwait(&member.came, &member.lock, &at);
	pthread_mutex_unlock(&member.lock);
	storm_member_release(member.of);
	storm_node_destroy(member.node);
	member.of = NULL;
	member.node = NULL;
}
