/*
 * spank_fallback.c - see spank_fallback.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "spank_fallback.h"
#include "src/storm_common/fallback_word.h"

void spank_fallback_forget(void)
{
	unsetenv(FALLBACK_ENV);
}

void spank_fallback_tell(spank_t sp, const char *node,
			 const struct step_owner *step)
{
	struct fallback_told told;
	char value[2 * FALLBACK_TEXT];
	uint32_t self;

	if (spank_getenv(sp, FALLBACK_ENV, value, sizeof(value)))
		return;
	spank_unsetenv(sp, FALLBACK_ENV);
	if (fallback_read(value, &told) &&
	    !spank_get_item(sp, S_JOB_NODEID, &self) && self == told.keeper)
		step_tell_fallback(NULL, node, step, &told);
}
