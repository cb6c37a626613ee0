/*
 * grow.c - see grow.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "grow.h"

bool grow_buffer(uint8_t **buf, size_t *room, size_t need)
{
	uint8_t *more;

	if (need <= *room)
		return true;
	more = realloc(*buf, 2 * need);
	if (!more)
		return false;
	*buf = more;
	*room = 2 * need;
	return true;
}
