/*
 * run_usage.c - see run_usage.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "run_usage.h"
#include "run_wire.h"
#include "src/libstorm/base/minmax.h"

static uint64_t usage_us(const struct timeval *t)
{
	return (uint64_t) t->tv_sec * 1000000 + (uint64_t) t->tv_usec;
}

void run_usage_add(struct run_usage *u, const struct rusage *task)
{
	u->tasks++;
	u->user_us += usage_us(&task->ru_utime);
	u->system_us += usage_us(&task->ru_stime);
	u->rss_kb = storm_max(u->rss_kb, (uint64_t) task->ru_maxrss);
	u->minor_faults += (uint64_t) task->ru_minflt;
	u->major_faults += (uint64_t) task->ru_majflt;
	u->blocks_in += (uint64_t) task->ru_inblock;
	u->blocks_out += (uint64_t) task->ru_oublock;
	u->waits += (uint64_t) task->ru_nvcsw;
	u->preempted += (uint64_t) task->ru_nivcsw;
}

void run_usage_put(uint8_t out[static RUN_USAGE_LEN], const struct run_usage *u)
{
	struct storm_out o = { out + RUN_FRAME_HEADER, out + RUN_USAGE_LEN,
			       false };

	run_frame_head(out, RUN_USED, RUN_USAGE_LEN - RUN_FRAME_HEADER);
	storm_put64(&o, u->tasks);
	storm_put64(&o, u->user_us);
	storm_put64(&o, u->system_us);
	storm_put64(&o, u->rss_kb);
	storm_put64(&o, u->minor_faults);
	storm_put64(&o, u->major_faults);
	storm_put64(&o, u->blocks_in);
	storm_put64(&o, u->blocks_out);
	storm_put64(&o, u->waits);
	storm_put64(&o, u->preempted);
}

bool run_usage_get(struct storm_in *body, struct run_usage *u)
{
	u->tasks = storm_get64(body);
	u->user_us = storm_get64(body);
	u->system_us = storm_get64(body);
	u->rss_kb = storm_get64(body);
	u->minor_faults = storm_get64(body);
	u->major_faults = storm_get64(body);
	u->blocks_in = storm_get64(body);
	u->blocks_out = storm_get64(body);
	u->waits = storm_get64(body);
	u->preempted = storm_get64(body);
	return storm_in_done(body);
}
