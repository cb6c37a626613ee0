/*
 * runs_private.h - what runs.c has for runs_begin.c and runs_input.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUNS_PRIVATE_H
#define STORM_RUNS_PRIVATE_H

#include "runs.h"

/* Have all tasks of its nth node ended, or are they lost? */
bool runs_node_done(const struct user_run *run, uint32_t nth);
void runs_free(struct user_run *run);
/* What it has of a node, which is its nth one. */
struct run_share {
	uint32_t cpus, gpus;
	uint64_t mem;
};
struct run_share run_share_of(const struct runs *r, const struct user_run *run,
			      uint32_t node, uint32_t nth);
void runs_give_share(struct runs *r, uint32_t node, struct run_share s);
void runs_take_share(struct runs *r, uint32_t node, struct run_share s);
/* Room for so many nodes.  False: no memory, and runs_stock_free() has the rest. */
bool runs_stock_alloc(struct runs_stock *s, uint32_t nodes);
void runs_stock_free(struct runs_stock *s);

#endif
