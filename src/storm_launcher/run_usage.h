/*
 * run_usage.h - what tasks of a run have used on a node, as launchers tell the head.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_USAGE_H
#define STORM_RUN_USAGE_H

#include <sys/resource.h>

#include "run_frame.h"

/* Sums of its tasks, with what these have waited for; but for rss, the highest. */
struct run_usage {
	uint64_t tasks;
	uint64_t user_us, system_us;
	uint64_t rss_kb; /* of one process */
	uint64_t minor_faults, major_faults;
	uint64_t blocks_in, blocks_out; /* of 512 bytes */
	uint64_t waits,
		preempted; /* context switches: of its own will, and not */
};

/* Its frame. */
#define RUN_USAGE_LEN (RUN_FRAME_HEADER + 10 * 8)

/* One more task has ended. */
void run_usage_add(struct run_usage *u, const struct rusage *task);
void run_usage_put(uint8_t out[static RUN_USAGE_LEN],
		   const struct run_usage *u);
/* A frame's body.  False: it is malformed. */
bool run_usage_get(struct storm_in *body, struct run_usage *u);

#endif
