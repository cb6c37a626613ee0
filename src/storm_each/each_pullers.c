/*
 * each_pullers.c - tasks are executed by pullers, one on each node: what they are told, and what
 * they say.  See each_way.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "each_head.h"
#include "each_private.h"
#include "src/libstorm/base/minmax.h"

#define EACH_SLOTS_MAX 4096 /* of a puller */

/* ------------------------------------------------------------- what they say --- */

/* Tasks that a node may run at once: one for each of its CPUs, or with more of -j its
 * share of them.  How many run in all is each_is_full()'s. */
static uint32_t each_puller_slots(uint32_t cpus)
{
	const char *text = getenv("SLURM_JOB_NUM_NODES");
	uint32_t nodes = text ? (uint32_t) strtoul(text, NULL, 10) : 1;
	uint32_t slots = cpus / each.o->cpus, share = 0;

	if (each.o->jobs.kind == EACH_COUNT && nodes)
		share = (each.o->jobs.number + nodes - 1) / nodes;
	else if (each.o->jobs.kind == EACH_PERCENT)
		share = each_slots(each.o, cpus);
	return storm_min(storm_max(slots, share), (uint32_t) EACH_SLOTS_MAX);
}

static void each_hello(uint32_t rank, struct storm_in *in)
{
	uint32_t cpus = storm_get32(in);
	bool fits = each.o->cpus <= cpus;
	struct pull_setup setup = {
		.slots = fits ? each_puller_slots(cpus) : 1,
		.base = each.bases,
		.client = (uint32_t) getpid(),
		.timeout_us = each.o->timeout_us,
	};
	struct pull_bytes *to = each_head_to(rank);

	if (!to || !each_came(rank, fits ? setup.slots : 0, fits ? cpus : 0))
		return;
	each_named(rank, in->p, (size_t) (in->end - in->p));
	each.narrow += !fits;
	pull_setup_put(to, &setup);
	if (each.closed)
		each_head_end(rank);
}

static void each_puller_begun(uint32_t rank, struct storm_in *in)
{
	uint64_t seq = storm_get64(in);

	each_begun(rank, seq, storm_get32(in));
}

static void each_puller_wrote(uint32_t rank, struct storm_in *in)
{
	uint64_t seq = storm_get64(in);
	uint8_t fd = storm_get8(in);

	if (!in->bad)
		each_written(rank, seq, fd, in->p, (size_t) (in->end - in->p));
}

static void each_frame(uint32_t rank, enum pull_kind kind, struct storm_in *in)
{
	struct pull_end end;

	if (kind == PULL_HELLO)
		each_hello(rank, in);
	else if (kind == PULL_BEGUN)
		each_puller_begun(rank, in);
	else if (kind == PULL_BACK)
		each_back(rank, storm_get64(in));
	else if (kind == PULL_OUTPUT)
		each_puller_wrote(rank, in);
	else if (kind == PULL_ENDED && pull_end_get(in, &end))
		each_ended(rank, &end);
}

static void each_words(const uint8_t *buf, size_t len)
{
	each_output_write(STDERR_FILENO, buf, len);
}

static void each_puller_gone(uint32_t rank, uint32_t code)
{
	(void) code;
	each_gone(rank);
}

/* -------------------------------------------------------- what they are told --- */

static bool each_pullers_open(const char *journal)
{
	static const struct each_heard heard = { each_frame, each_words,
						 each_puller_gone };

	return each_head_open(&heard, journal);
}

static void each_pullers_give(uint32_t rank, const struct each_job *j)
{
	size_t dir = j->dir ? strlen(j->dir) : 0;
	struct pull_bytes *to = each_head_to(rank);
	struct storm_out o = pull_frame(to, PULL_TASK, 8 + 4 + dir + j->len);

	storm_put64(&o, j->task.seq);
	storm_put32(&o, (uint32_t) dir);
	storm_put(&o, j->dir, dir);
	storm_put(&o, j->text, j->len);
}

static void each_pullers_recall(uint32_t rank, uint32_t n)
{
	struct storm_out o = pull_frame(each_head_to(rank), PULL_RECALL, 4);

	storm_put32(&o, n);
}

static void each_pullers_kill(void)
{
	for (uint32_t k = 0; k < each.tasks.pullers; k++)
		if (each.tasks.puller[k].there)
			pull_frame(each_head_to(k), PULL_KILL, 0);
}

static void each_pullers_end(void)
{
	for (uint32_t k = 0; k < each.tasks.pullers; k++)
		each_head_end(k);
}

const struct each_way each_pullers = {
	.open = each_pullers_open,
	.fd = each_head_fd,
	.waits = each_head_waits,
	.timeout = each_head_timeout,
	.patience = each_head_patience,
	.hear = each_head_hear,
	.give = each_pullers_give,
	.recall = each_pullers_recall,
	.kill = each_pullers_kill,
	.end = each_pullers_end,
	.send = each_head_send,
};
