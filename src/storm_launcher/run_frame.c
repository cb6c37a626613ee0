/*
 * run_frame.c - see run_frame.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "run_frame.h"

#define PIECE 16384 /* a reader's room */

void run_frame_head(uint8_t out[static RUN_FRAME_HEADER], enum run_kind kind,
		    size_t body)
{
	struct storm_out o = { out, out + RUN_FRAME_HEADER, false };

	storm_put32(&o, (uint32_t) body);
	storm_put8(&o, (uint8_t) kind);
}

/* Let go of frames that were returned. */
static void run_reader_shift(struct run_reader *r)
{
	if (!r->used)
		return;
	memmove(r->buf, r->buf + r->used, r->have - r->used);
	r->have -= r->used;
	r->used = 0;
}

/* The bytes of the frame that comes next, with its header. */
static size_t run_reader_whole(const struct run_reader *r)
{
	struct storm_in i = { r->buf + r->used, r->buf + r->have, false };

	return RUN_FRAME_HEADER + (size_t) storm_get32(&i);
}

size_t run_reader_body(const struct run_reader *r)
{
	return r->have - r->used >= RUN_FRAME_HEADER ?
		       run_reader_whole(r) - RUN_FRAME_HEADER :
		       0;
}

uint8_t *run_reader_room(struct run_reader *r, size_t *room)
{
	size_t need = PIECE;

	run_reader_shift(r);
	if (r->have >= RUN_FRAME_HEADER) {
		size_t whole = run_reader_whole(r);

		if (whole <= RUN_FRAME_HEADER + (size_t) RUN_FRAME_MAX &&
		    whole > need)
			need = whole;
	}
	if (need <= r->have)
		need = r->have + PIECE;
	if (need > r->room) {
		uint8_t *more = realloc(r->buf, need);

		if (!more)
			return NULL;
		r->buf = more;
		r->room = need;
	}
	*room = r->room - r->have;
	return r->buf + r->have;
}

int run_reader_next(struct run_reader *r, enum run_kind *kind,
		    struct storm_in *body)
{
	const uint8_t *frame;
	size_t whole;

	if (r->have - r->used < RUN_FRAME_HEADER)
		return 0;
	whole = run_reader_whole(r);
	if (whole > RUN_FRAME_HEADER + (size_t) RUN_FRAME_MAX)
		return -1;
	if (r->have - r->used < whole)
		return 0;
	frame = r->buf + r->used;
	*kind = (enum run_kind) frame[4];
	*body = (struct storm_in) { frame + RUN_FRAME_HEADER, frame + whole,
				    false };
	/* what follows is moved once for all frames, by run_reader_room() */
	r->used += whole;
	return 1;
}

void run_reader_fini(struct run_reader *r)
{
	free(r->buf);
	*r = (struct run_reader) { 0 };
}
