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
	uint32_t ms = well ? CHILD_BACKOFF_MIN : b->next;

	if (refused)
		ms = CHILD_BACKOFF_MAX;
	b->next = storm_min(ms * 2, CHILD_BACKOFF_MAX);
	return ms;
}
