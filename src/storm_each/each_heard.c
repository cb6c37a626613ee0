/*
 * each_heard.c - what becomes of tasks where they are executed.  See each_private.h.
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
	/* those that the rule or a signal ends are no part of it, and --resume begins them
	 * again */
	bool own = !e->killed || e->late;

	if (own && !each_record_log(j, e, host)) {
		each.broken = true;
		each_stop(EACH_SOON);
	}
	if (own)
		each_stop(each_halt_ended(&each.halt,
					  e->killed ? 255 : e->status,
					  e->killed ? 0 : e->signal));
	each_print_done(j);
}

/* -------------------------------------------------------------------- events --- */

static struct each_puller *each_puller_at(uint32_t rank)
{
	struct each_puller *p =
		rank < each.tasks.pullers ? &each.tasks.puller[rank] : NULL;

	return p && p->there ? p : NULL;
}

bool each_came(uint32_t rank, uint32_t slots, uint32_t cpus)
{
	uint32_t before = each.tasks.pullers;

	if (!each_tasks_join(&each.tasks, rank, slots))
		return false;
	if (each.tasks.pullers > before)
		each.node = reallocarray(each.node, each.tasks.pullers,
					 sizeof(*each.node));
	if (!each.node) {
		run_say("no memory");
		exit(EACH_FAILED);
	}
	*each.node[rank] = '\0';
	each.since = each.since ? each.since : storm_now();
	each.bases += slots;
	each.cpus += cpus;
	return true;
}

void each_named(uint32_t rank, const void *name, size_t len)
{
	snprintf(each.node[rank], sizeof(each.node[rank]), "%.*s", (int) len,
		 (const char *) name);
}

void each_begun(uint32_t rank, uint64_t seq, uint32_t slot)
{
	struct each_puller *p = each_puller_at(rank);
	struct each_job *j = p ? each_job_of(each_tasks_begun(p, seq)) : NULL;

	if (!j)
		return;
	j->slot = slot;
	j->began = storm_now();
}

void each_written(uint32_t rank, uint64_t seq, int fd, const uint8_t *buf,
		  size_t len)
{
	struct each_puller *p = each_puller_at(rank);
	struct each_task *task = p ? p->has.first : NULL;
	struct each_job *j;

	while (task && task->seq != seq)
		task = task->next;
	j = each_job_of(task);
	if (j && (fd == STDOUT_FILENO || fd == STDERR_FILENO))
		each_output_add(&j->kept[fd - 1], fd, j->tag, buf, len);
}

void each_back(uint32_t rank, uint64_t seq)
{
	struct each_puller *p = each_puller_at(rank);

	if (p)
		each_tasks_back(&each.tasks, p, seq);
}

void each_ended(uint32_t rank, const struct pull_end *e)
{
	struct each_puller *p = each_puller_at(rank);
	struct each_job *j =
		p ? each_job_of(each_tasks_ended(p, e->seq, e->time_us)) : NULL;

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

static void each_lost_say(uint64_t seq, enum each_fate fate, const char *host)
{
	/* a list of nodes */
	const char *how = strpbrk(host, "[,") ? "of which one" : "which";

	if (fate == EACH_WAS_BEGUN)
		run_say("task %llu was begun on %s, %s is lost; it begins again",
			(unsigned long long) seq, host, how);
	else
		run_say("task %llu may have begun on %s, %s is lost; it begins again",
			(unsigned long long) seq, host, how);
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

void each_gone(uint32_t rank)
{
	struct each_puller *p = each_puller_at(rank);
	struct each_task *task;
	enum each_fate fate;

	while (p && (task = each_tasks_lose(p, &fate)))
		each_lost(each_job_of(task), fate, each.node[rank]);
}

void each_came_again(uint32_t rank)
{
	each_tasks_rejoin(&each.tasks, rank);
}
