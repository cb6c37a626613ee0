/*
 * each_heard.c - what pullers say, and what it means for their tasks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "each_command.h"
#include "each_private.h"
#include "each_record.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"

#define EACH_SLOTS_MAX 4096 /* of a puller */

static struct each_job *each_job_of(struct each_task *task)
{
	return task ? task->what : NULL;
}

/* ----------------------------------------------------------------- a task's end --- */

static void each_print_job(struct each_job *j)
{
	if (each.o->verbose) {
		char *text = each_with_slot(j->text, j->len, j->slot);

		if (text) {
			each_output_write(STDOUT_FILENO, text, strlen(text));
			each_output_write(STDOUT_FILENO, "\n", 1);
		}
		free(text);
	}
	each_output_end(&j->kept[0], STDOUT_FILENO, j->tag);
	each_output_end(&j->kept[1], STDERR_FILENO, j->tag);
}

/* With -k those that wait for it, too. */
static void each_print_done(struct each_job *done)
{
	struct each_job **at = &each.first, *j;

	done->done = true;
	if (!each.o->keep_order)
		while (*at != done)
			at = &(*at)->next;
	while ((j = *at) && j->done) {
		*at = j->next;
		if (!j->next)
			each.last = at;
		each_print_job(j);
		each.broken |= !each_record_files(j);
		each_job_free(j);
		if (!each.o->keep_order)
			return;
	}
}

/* It has ended for good. */
static void each_over(struct each_job *j, const struct pull_end *e,
		      const char *host)
{
	if (!each_record_log(j, e, host)) {
		each.broken = true;
		each_stop(EACH_SOON);
	}
	/* those that end because of the rule are no part of it */
	if (!e->killed || e->late)
		each_stop(each_halt_ended(&each.halt,
					  e->killed ? 255 : e->status,
					  e->killed ? 0 : e->signal));
	each_print_done(j);
}

static void each_ended(struct each_puller *p, uint32_t rank,
		       const struct pull_end *e)
{
	struct each_job *j =
		each_job_of(each_tasks_ended(p, e->seq, e->time_us));

	if (!j)
		return;
	if ((e->status || e->signal || e->killed) &&
	    each.verdict == EACH_GO_ON &&
	    each_tasks_retry(&each.tasks, &j->task)) {
		each_kept_fini(&j->kept[0]);
		each_kept_fini(&j->kept[1]);
		return;
	}
	if (e->late)
		run_say("task %llu: ended by --timeout",
			(unsigned long long) e->seq);
	each_over(j, e, each.node[rank]);
}

/* ------------------------------------------------------------------- pullers --- */

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
	uint32_t before = each.tasks.pullers;
	struct pull_bytes *to = each_head_to(rank);

	if (!to || !each_tasks_join(&each.tasks, rank, fits ? setup.slots : 0))
		return;
	if (each.tasks.pullers > before)
		each.node = reallocarray(each.node, each.tasks.pullers,
					 sizeof(*each.node));
	if (!each.node) {
		run_say("no memory");
		exit(EACH_FAILED);
	}
	snprintf(each.node[rank], sizeof(each.node[rank]), "%.*s",
		 (int) (in->end - in->p), (const char *) in->p);
	each.since = each.since ? each.since : storm_now();
	each.bases += fits ? setup.slots : 0;
	each.cpus += fits ? cpus : 0;
	each.narrow += !fits;
	pull_setup_put(to, &setup);
	if (each.closed)
		each_head_end(rank);
}

static void each_begun(struct each_puller *p, struct storm_in *in)
{
	struct each_job *j = each_job_of(each_tasks_begun(p, storm_get64(in)));

	if (!j)
		return;
	j->slot = storm_get32(in);
	j->began = storm_now();
}

static void each_written(struct each_puller *p, struct storm_in *in)
{
	uint64_t seq = storm_get64(in);
	uint8_t fd = storm_get8(in);
	struct each_task *task = p->has.first;
	struct each_job *j;

	while (task && task->seq != seq)
		task = task->next;
	j = each_job_of(task);
	if (j && !in->bad && (fd == 1 || fd == 2))
		each_output_add(&j->kept[fd - 1], fd, j->tag, in->p,
				(size_t) (in->end - in->p));
}

static void each_frame(uint32_t rank, enum pull_kind kind, struct storm_in *in)
{
	struct each_puller *p =
		rank < each.tasks.pullers ? &each.tasks.puller[rank] : NULL;
	struct pull_end end;

	if (kind == PULL_HELLO)
		each_hello(rank, in);
	else if (!p || !p->there)
		return;
	else if (kind == PULL_BEGUN)
		each_begun(p, in);
	else if (kind == PULL_BACK)
		each_tasks_back(&each.tasks, p, storm_get64(in));
	else if (kind == PULL_OUTPUT)
		each_written(p, in);
	else if (kind == PULL_ENDED && pull_end_get(in, &end))
		each_ended(p, rank, &end);
}

static void each_words(const uint8_t *buf, size_t len)
{
	each_output_write(STDERR_FILENO, buf, len);
}

static void each_lost_say(uint64_t seq, enum each_fate fate, const char *host)
{
	if (fate == EACH_WAS_BEGUN)
		run_say("task %llu was begun on %s, which is lost; it begins again",
			(unsigned long long) seq, host);
	else
		run_say("task %llu may have begun on %s, which is lost; it begins again",
			(unsigned long long) seq, host);
}

/* What it has begun is begun again elsewhere: it may have done something already. */
static void each_lost(struct each_job *j, enum each_fate fate, const char *host)
{
	const struct pull_end end = { .seq = j->task.seq, .status = 255 };

	each_kept_fini(&j->kept[0]);
	each_kept_fini(&j->kept[1]);
	if (!each_tasks_survives(&each.tasks, &j->task)) {
		run_say("error: task %llu is given up: %u times what runs tasks was lost with it, on %s last",
			(unsigned long long) j->task.seq, j->task.deaths, host);
		each_over(j, &end, host);
	} else if (fate != EACH_NOT_BEGUN && each.verdict == EACH_GO_ON) {
		each_lost_say(j->task.seq, fate, host);
	}
}

static void each_gone(uint32_t rank, uint32_t code)
{
	struct each_puller *p =
		rank < each.tasks.pullers ? &each.tasks.puller[rank] : NULL;
	struct each_task *task;
	enum each_fate fate;

	(void) code;
	if (!p || !p->there)
		return;
	while ((task = each_tasks_lose(p, &fate)))
		each_lost(each_job_of(task), fate, each.node[rank]);
}

const struct each_heard each_heard = { each_frame, each_words, each_gone };
