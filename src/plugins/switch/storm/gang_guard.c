/*
 * gang_guard.c - see gang_guard.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/log.h"

#include "gang_guard.h"
#include "gang_page.h"
#include "gang_step.h"
#include "src/libstorm/clock.h"

#define LOOK_SHARING 25		/* ms: the agent's limits are as much shorter */
#define LOOK_IDLE 500

static struct gang_page *page;	/* the agent's; NULL: none known */
static uint64_t freed_at;	/* its sign of life when it was found late */

static void _warn(const char *name, int err)
{
	error("storm: gang: step %s does not go on: %s", name, strerror(err));
}

static void _free_all(const char *node, const char *why)
{
	char dir[PATH_MAX];
	unsigned int n = 0;

	/* before: an agent that is late must not think that they stand */
	page->freed++;
	if (!gang_step_dir(NULL, node, false, dir))
		n = gang_step_thaw_all(dir, _warn);
	info("storm: gang: the agent %s, %u steps go on", why, n);
}

int gang_guard_look(const char *node, bool agent_gone)
{
	if (!page)
		page = gang_page_open(NULL, node);
	if (!page)
		return LOOK_IDLE;
	if (agent_gone) {
		/* whatever it says of itself: it may have died in between */
		_free_all(node, "is gone");
		gang_guard_end();	/* the next one makes its own */
		return LOOK_IDLE;
	}
	page->watched = storm_now();
	if (gang_page_late(page, storm_now()) && page->alive != freed_at) {
		freed_at = page->alive;
		_free_all(node, "gives no sign of life");
	}
	return page->sharing ? LOOK_SHARING : LOOK_IDLE;
}

void gang_guard_end(void)
{
	gang_page_close(page);
	page = NULL;
}
