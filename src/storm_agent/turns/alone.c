/*
 * alone.c - see alone.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "alone.h"
#include "src/libstorm/base/minmax.h"

static uint32_t alone_patience(const struct alone *al)
{
	return al->patience ? al->patience : ALONE_PATIENCE;
}

void alone_begin(struct alone *al)
{
	al->without = 0;
}

bool alone_look(struct alone *al, bool there)
{
	if (there) {
		al->without = 0;
		if (++al->with >= ALONE_CALM)
			al->patience = 0;
		return false;
	}
	al->with = 0;
	return ++al->without > alone_patience(al);
}

void alone_left(struct alone *al)
{
	al->patience = storm_min(2 * alone_patience(al), ALONE_PATIENCE_MOST);
}
