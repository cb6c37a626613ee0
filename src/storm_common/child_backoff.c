/*
 * child_backoff.c - see child_backoff.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "child_backoff.h"
#include "src/libstorm/base/minmax.h"

uint32_t child_backoff(struct child_backoff *b, bool refused, bool well)
{
	uint32_t ms;

	if (refused || well)
		b->next = CHILD_BACKOFF_MIN;
	if (refused)
		return CHILD_BACKOFF_MAX;
	ms = b->next;
	b->next = storm_min(ms * 2, CHILD_BACKOFF_MAX);
	return ms;
}
