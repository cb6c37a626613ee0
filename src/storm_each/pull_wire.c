/*
 * pull_wire.c - see pull_wire.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "pull_wire.h"
#include "src/storm_launcher/grow.h"

#define PULL_SETUP_LEN (4 + 4 + 4 + 8)
#define PULL_END_LEN (8 + 4 + 8 + 8)

/* -------------------------------------------------------------------- bytes --- */

uint8_t *pull_bytes_more(struct pull_bytes *b, size_t len)
{
	uint8_t *to;

	if (b->at && b->have + len > b->room) {
		memmove(b->buf, b->buf + b->at, b->have - b->at);
		b->have -= b->at;
		b->at = 0;
	}
	if (!grow_buffer(&b->buf, &b->room, b->have + len)) {
		b->failed = true;
		return NULL;
	}
	to = b->buf + b->have;
	b->have += len;
	return to;
}

size_t pull_bytes_wait(const struct pull_bytes *b)
{
	return b->have - b->at;
}

int pull_bytes_write(struct pull_bytes *b, int fd)
{
	while (b->at < b->have) {
		ssize_t n = write(fd, b->buf + b->at, b->have - b->at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		b->at += (size_t) n;
	}
	b->at = b->have = 0;
	return 0;
}

void pull_bytes_fini(struct pull_bytes *b)
{
	free(b->buf);
	*b = (struct pull_bytes) { 0 };
}

/* ------------------------------------------------------------------- frames --- */

struct storm_out pull_frame(struct pull_bytes *b, enum pull_kind kind,
			    size_t len)
{
	uint8_t *to = pull_bytes_more(b, RUN_FRAME_HEADER + len);

	if (!to)
		return (struct storm_out) { NULL, NULL, true };
	run_frame_head(to, (enum run_kind) kind, len);
	return (struct storm_out) { to + RUN_FRAME_HEADER,
				    to + RUN_FRAME_HEADER + len, false };
}

void pull_frame_seq(struct pull_bytes *b, enum pull_kind kind, uint64_t seq)
{
	struct storm_out o = pull_frame(b, kind, 8);

	storm_put64(&o, seq);
}

void pull_setup_put(struct pull_bytes *b, const struct pull_setup *s)
{
	struct storm_out o = pull_frame(b, PULL_SETUP, PULL_SETUP_LEN);

	storm_put32(&o, s->slots);
	storm_put32(&o, s->base);
	storm_put32(&o, s->client);
	storm_put64(&o, s->timeout_us);
}

bool pull_setup_get(struct storm_in *in, struct pull_setup *s)
{
	s->slots = storm_get32(in);
	s->base = storm_get32(in);
	s->client = storm_get32(in);
	s->timeout_us = storm_get64(in);
	return storm_in_done(in) && s->slots;
}

void pull_end_put(struct pull_bytes *b, const struct pull_end *e)
{
	struct storm_out o = pull_frame(b, PULL_ENDED, PULL_END_LEN);

	storm_put64(&o, e->seq);
	storm_put8(&o, e->status);
	storm_put8(&o, e->signal);
	storm_put8(&o, e->killed);
	storm_put8(&o, e->late);
	storm_put64(&o, e->start_us);
	storm_put64(&o, e->time_us);
}

bool pull_end_get(struct storm_in *in, struct pull_end *e)
{
	e->seq = storm_get64(in);
	e->status = storm_get8(in);
	e->signal = storm_get8(in);
	e->killed = storm_get8(in);
	e->late = storm_get8(in);
	e->start_us = storm_get64(in);
	e->time_us = storm_get64(in);
	return storm_in_done(in);
}
