/*
 * run_feed.c - see run_feed.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "run_feed.h"
#include "run_pieces.h"

bool run_feed_add(struct run_feed *f, const void *buf, size_t len)
{
	size_t have = (size_t) (f->come - f->taken);

	if (f->over || len > RUN_INPUT_WINDOW - have)
		return false;
	if (!len) {
		f->over = true;
		return true;
	}
	if (f->at && f->at + have + len > f->room) {
		memmove(f->buf, f->buf + f->at, have);
		f->at = 0;
	}
	if (!grow_buffer(&f->buf, &f->room, f->at + have + len))
		return false;
	memcpy(f->buf + f->at + have, buf, len);
	f->come += len;
	return true;
}

const uint8_t *run_feed_from(const struct run_feed *f, uint64_t pos,
			     size_t *len)
{
	*len = pos < f->come ? (size_t) (f->come - pos) : 0;
	return *len ? f->buf + f->at + (pos - f->taken) : NULL;
}

bool run_feed_take(struct run_feed *f, uint64_t pos)
{
	if (pos > f->come)
		pos = f->come;
	if (pos <= f->taken)
		return false;
	f->at += (size_t) (pos - f->taken);
	f->taken = pos;
	if (f->taken < f->come)
		return true;
	/* most inputs are over then, or wait for long */
	free(f->buf);
	f->buf = NULL;
	f->at = f->room = 0;
	return true;
}

void run_feed_fini(struct run_feed *f)
{
	free(f->buf);
	*f = (struct run_feed) { .taken = 0 };
}
