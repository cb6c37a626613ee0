/*
 * launcher_heard.c - what the head sends in the domain.  See launcher_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher_base.h"
#include "launcher_private.h"
#include "src/libstorm/base/clock.h"

/* Reports of one launch are some tenths of a millisecond apart. */
#define HOLD (STORM_MS / 2)

/* What the head sent, from libstorm's thread. */
struct said {
	struct said *next;
	size_t len;
	uint8_t msg[];
};

static void launcher_wake(void)
{
	uint64_t one = 1;

	if (write(launcher.event, &one, sizeof(one)) < 0)
		return; /* the counter is full: it wakes anyway */
}

/* Whose message has the key is the head.  Other processes of the user can open a domain
 * here, also before it. */
static bool launcher_is_head(storm_member_t *m)
{
	storm_member_t *one = NULL;

	if (!launcher.heard) {
		do {
			storm_member_release(one);
			one = storm_node_accept(launcher.node, false, 0);
		} while (one && one != m);
		launcher.heard = one;
	}
	return launcher.heard == m;
}

static void launcher_refuse(void)
{
	if (!launcher.refused)
		storm_log(
			STORM_LOG_ERROR,
			"a message is refused: another process of this user sends it");
	launcher.refused = true;
}

void launcher_on_signal(void *arg, storm_member_t *m, uint32_t event,
			const void *buf, size_t len)
{
	struct said *s;
	bool good;

	(void) arg;
	(void) event;
	if (!buf || len < RUN_KEY || memcmp(buf, launcher.key, RUN_KEY)) {
		launcher_refuse();
		return;
	}
	len -= RUN_KEY;
	s = malloc(sizeof(*s) + len);
	if (!s) { /* the head would wait for its tasks in vain */
		storm_log(STORM_LOG_ERROR, "no memory for a run");
		_exit(1);
	}
	s->next = NULL;
	s->len = len;
	memcpy(s->msg, (const uint8_t *) buf + RUN_KEY, len);
	pthread_mutex_lock(&launcher.lock);
	good = launcher_is_head(m);
	if (good) {
		*launcher.said_tail = s;
		launcher.said_tail = &s->next;
	}
	pthread_mutex_unlock(&launcher.lock);
	if (good) {
		launcher_wake();
		return;
	}
	free(s);
	launcher_refuse();
}

void launcher_on_close(void *arg, storm_member_t *m)
{
	(void) arg;
	pthread_mutex_lock(&launcher.lock);
	launcher.closed |= m == launcher.heard;
	pthread_mutex_unlock(&launcher.lock);
	launcher_wake();
}

/* This member is the head's. */
static void launcher_meet(storm_member_t *m)
{
	struct storm_member_info info;

	launcher.member = m;
	storm_member_info(m, &info);
	launcher.self = info.node;
	storm_member_hold(m, HOLD);
}

static void launcher_hear(struct said *s)
{
	uint8_t *msg = launcher_copy(s->msg, s->len);
	struct storm_in in = { msg, msg + s->len, false };
	uint8_t kind = storm_get8(&in);

	if (kind == RUN_START) {
		launcher_begin(&in, msg);
		return;
	}
	if (kind == RUN_KILL) {
		uint64_t number = storm_get64(&in);
		uint8_t sig = storm_get8(&in);

		if (storm_in_done(&in) && number && sig && sig < NSIG)
			launcher_kill(number, sig);
	} else if (kind == RUN_SWEEP) {
		uint64_t number = storm_get64(&in);

		if (storm_in_done(&in) && number)
			launcher_sweep(number);
	} else if (kind == RUN_FENCED) {
		launcher_pmi_fenced(&in);
	} else if (kind == RUN_WANTED || kind == RUN_GIVEN) {
		launcher_pmi_direct(&in, kind == RUN_GIVEN);
	} else if (kind == RUN_HEAD) {
		launcher_door_open(&in);
	} else if (kind == RUN_PAST) {
		struct storm_idset past = { 0 };

		storm_get_set(&in, &past, UINT32_MAX - 1);
		if (storm_in_done(&in))
			storm_member_forget(launcher.member, RUN_REPORT, &past);
		storm_idset_clear(&past);
	}
	free(msg);
}

void launcher_hear_all(void)
{
	storm_member_t *heard;
	struct said *s, *next;
	uint64_t n;

	if (read(launcher.event, &n, sizeof(n)) < 0 && errno != EAGAIN)
		return;
	pthread_mutex_lock(&launcher.lock);
	s = launcher.said;
	launcher.said = NULL;
	launcher.said_tail = &launcher.said;
	heard = launcher.heard;
	launcher.over = launcher.closed;
	pthread_mutex_unlock(&launcher.lock);
	if (heard && !launcher.member)
		launcher_meet(heard);
	for (; s; s = next) {
		next = s->next;
		launcher_hear(s);
		free(s);
	}
}
