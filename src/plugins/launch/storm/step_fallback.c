/*
 * step_fallback.c - see step_fallback.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdio.h>

#include "src/common/slurm_xlator.h"

#include "src/common/env.h"
#include "src/common/slurm_protocol_defs.h"

#include "src/storm_common/fallback_word.h"
#include "step_fallback.h"
#include "step_launch.h"

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
	told.keeper = step_odd_keeper(s->sls->layout->node_list, s->odd.faulty);
	snprintf(told.text, sizeof(told.text), "%s", s->fallback);
	fallback_write(&told, value, sizeof(value));
	env_array_overwrite(env, FALLBACK_ENV, value);
}
