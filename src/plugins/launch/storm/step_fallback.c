/*
 * step_fallback.c - see step_fallback.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/common/slurm_xlator.h"

#include "src/common/env.h"
#include "src/common/hostlist.h"
#include "src/common/slurm_protocol_defs.h"

#include "src/storm_common/fallback_word.h"
#include "step_fallback.h"
#include "step_launch.h"

/* The first of the step's nodes that has not failed: its agent may be there. */
static uint32_t step_fallback_keeper(const struct storm_session *s)
{
	struct hostlist *all = hostlist_create(s->sls->layout->node_list);
	struct hostlist *bad = hostlist_create(s->odd.faulty);
	uint32_t i = 0, keeper = 0;
	char *name;

	while ((name = hostlist_shift(all))) {
		bool good = hostlist_find(bad, name) < 0;

		free(name);
		if (good) {
			keeper = i;
			break;
		}
		i++;
	}
	hostlist_destroy(all);
	hostlist_destroy(bad);
	return keeper;
}

void step_fallback_put(const struct storm_session *s, char ***env)
{
	struct fallback_told told = { .cause = FALLBACK_OPTION };
	char value[FALLBACK_TEXT + 32];

	if (s->few) {
		unsetenvp(*env, FALLBACK_ENV);
		return;
	}
	if (!s->not_served)
		told.cause = fallback_of(s->odd.err);
	told.keeper = step_fallback_keeper(s);
	snprintf(told.text, sizeof(told.text), "%s", s->fallback);
	fallback_write(&told, value, sizeof(value));
	env_array_overwrite(env, FALLBACK_ENV, value);
}
