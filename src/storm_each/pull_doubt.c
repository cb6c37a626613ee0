/*
 * pull_doubt.c - see pull_doubt.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <signal.h>

#include "pull_doubt.h"

#define PULL_SHELLS \
	128 /* a shell's status says that a signal ended its program */

static bool pull_is_slurms(uint32_t sig)
{
	return sig == SIGTERM || sig == SIGKILL;
}

uint64_t pull_doubt(const struct pull_end *e, uint64_t now)
{
	if (e->killed || !(pull_is_slurms(e->signal) ||
			   (e->status > PULL_SHELLS &&
			    pull_is_slurms(e->status - PULL_SHELLS))))
		return 0;
	return now + PULL_DOUBT;
}
