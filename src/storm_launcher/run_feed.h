/*
 * run_feed.h - input of tasks on its way, in the head and in launchers.  No I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_FEED_H
#define STORM_RUN_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The part of one input that has come and that somebody has not taken yet, at most
 * RUN_INPUT_WINDOW.  Zero it; run_feed_fini() frees what it has. */
struct run_feed {
	uint64_t taken, come; /* bytes since its begin */
	bool over;	      /* no more will come */
	uint8_t *buf;	      /* of [taken, come), from at */
	size_t at, room;
};

/* Bytes come; none: it is over.  False: they are too many, or behind the end, or there is
 * no memory. */
bool run_feed_add(struct run_feed *f, const void *buf, size_t len);
/* What is there from this byte on, *len bytes; pos is not before taken. */
const uint8_t *run_feed_from(const struct run_feed *f, uint64_t pos,
			     size_t *len);
/* All have taken what is before pos, which may be behind its end.  True: it was not
 * known. */
bool run_feed_take(struct run_feed *f, uint64_t pos);
void run_feed_fini(struct run_feed *f);

#endif
