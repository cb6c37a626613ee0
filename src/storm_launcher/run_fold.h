/*
 * run_fold.h - equal lines of many tasks, of which one is shown.  No I/O and no clock.
 *
 * Lines stand in the order in which their first copies came, and leave in this order.  A
 * further copy joins its line if its task has said nothing that stands there or behind.  So
 * each task's lines keep their order, and none is lost.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_FOLD_H
#define STORM_RUN_FOLD_H

#include "src/libstorm/storm.h"

struct run_fold;

struct run_folded {
	struct storm_idset ranks;
	const uint8_t *text; /* without the line's end */
	size_t len;
};

/* For the ranks from first on.  NULL: no memory. */
struct run_fold *run_fold_create(uint32_t first, uint32_t ranks);
void run_fold_destroy(struct run_fold *f);

/* These ranks, all of them f's, have said a line.  now: ns, as in all calls below.
 * False: no memory, and a part of it may be lost. */
bool run_fold_add(struct run_fold *f, const struct storm_idset *ranks,
		  const void *text, size_t len, uint64_t now);
/* Nothing is to be added before a line was dropped: what is waiting has some MB. */
bool run_fold_is_full(const struct run_fold *f);
/* Is a line of this rank there? */
bool run_fold_has(const struct run_fold *f, uint32_t rank);

/* After how many ns is the first line due, if a line waits so long for its other copies?
 * 0: it is, also since all have said it, or since f is full.  UINT64_MAX: there is
 * none. */
uint64_t run_fold_left(const struct run_fold *f, uint64_t now, uint64_t wait);
/* The first line, or NULL.  It is f's until it is dropped. */
const struct run_folded *run_fold_first(const struct run_fold *f);
void run_fold_drop(struct run_fold *f);

/* What is shown, as the body of an OUTPUT: the descriptor's byte, "[0-3,7]: text" and a
 * line's end.  *len bytes, which the caller frees.  NULL: no memory. */
char *run_folded_text(const struct run_folded *line, uint8_t fd, size_t *len);

#endif
