/*
 * run_list.h - what the head tells storm ps of its runs, as bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_LIST_H
#define STORM_RUN_LIST_H

#include "src/libstorm/wire/wire.h"

/* More of a command is not told. */
#define RUN_LIST_COMMAND 256 /* bytes */

enum run_list_state { RUN_LIST_WAITS, RUN_LIST_RUNS, RUN_LIST_ENDS };

/* A run.  Its strings are the buffer's that it was read from. */
struct run_listed {
	uint64_t number;
	enum run_list_state state;
	uint64_t age; /* ns since it came; since it began, if it has */
	uint32_t tasks, ended;
	uint64_t cpus;	     /* that it has, or waits for */
	const char *nodes;   /* a list of names; "" before it has some */
	const char *command; /* of a user: any bytes but 0 */
};

size_t run_listed_len(const struct run_listed *l);
void run_listed_put(struct storm_out *o, const struct run_listed *l);
/* False: it is malformed. */
bool run_listed_get(struct storm_in *i, struct run_listed *l);

/* What the job's nodes have in all, and what of that no run has. */
struct run_stocks {
	uint64_t cpus, free_cpus, gpus, free_gpus;
	uint64_t mem, free_mem; /* MB, of nodes where it is known */
};
#define RUN_STOCKS_LEN (6 * 8)
void run_stocks_put(struct storm_out *o, const struct run_stocks *s);
/* False: it is malformed. */
bool run_stocks_get(struct storm_in *i, struct run_stocks *s);

#endif
