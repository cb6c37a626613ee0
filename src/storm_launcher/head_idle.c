/*
 * head_idle.c - launchers that nobody uses end after LauncherIdle.  See head_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <limits.h>

#include "head_private.h"
#include "launcher_base.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/base/patience.h"

#define IDLE_LOOKS 10 /* in the limit */

/* By a run, or by a client that has not said yet what it wants. */
static bool head_is_used(void)
{
	const struct conn *c = head.conns;

	while (c &&
	       (c->tcp || c->kind == CONN_PARENT || c->kind == CONN_KEEPER))
		c = c->next;
	return c || runs_any(&head.runs);
}

/* ns until the next look; 0: nobody looks. */
static uint64_t head_idle_look(void)
{
	return head.stays || head_is_used() ?
		       0 :
		       launcher_conf()->launcher_idle / IDLE_LOOKS;
}

int head_idle_wait(int wait)
{
	int look = (int) storm_min((head_idle_look() + STORM_MS - 1) / STORM_MS,
				   (uint64_t) INT_MAX);

	return look ? storm_sooner(wait, look) : wait;
}

/* A look adds no more time than was to pass before it.  So a job that stood keeps its
 * launchers when it goes on. */
void head_expire_idle(void)
{
	static uint64_t before, idle;
	uint64_t now = storm_now(), look = head_idle_look();

	idle = look && before ? idle + storm_min(now - before, look) : 0;
	before = look ? now : 0;
	if (!look || head.runs.closing || idle < look * IDLE_LOOKS)
		return;
	storm_log(STORM_LOG_INFO,
		  "no run for %.3g s (LauncherIdle): the launchers end",
		  (double) idle / STORM_SEC);
	runs_close(&head.runs, false);
}
