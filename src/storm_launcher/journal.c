/*
 * journal.c - see journal.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "grow.h"
#include "journal.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

/* ----------------------------------------------------------------------- text --- */

static void journal_put(struct journal_text *t, const char *text, size_t len)
{
	uint8_t *buf = (uint8_t *) t->buf;

	if (t->failed || !grow_buffer(&buf, &t->room, t->len + len + 1)) {
		t->failed = true;
		return;
	}
	t->buf = (char *) buf;
	memcpy(t->buf + t->len, text, len);
	t->len += len;
	t->buf[t->len] = '\0';
}

__attribute__((format(printf, 2, 3))) static void
journal_add(struct journal_text *t, const char *fmt, ...)
{
	char piece[200];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(piece, sizeof(piece), fmt, ap);
	va_end(ap);
	if (n > 0)
		journal_put(t, piece, storm_min((size_t) n, sizeof(piece) - 1));
}

/* The bytes of the character that begins there; 0: it is no UTF-8. */
static size_t journal_character(const unsigned char *p)
{
	size_t n = *p < 0x80		    ? 1 :
		   *p >= 0xc2 && *p <= 0xdf ? 2 :
		   *p >= 0xe0 && *p <= 0xef ? 3 :
		   *p >= 0xf0 && *p <= 0xf4 ? 4 :
					      0;

	for (size_t k = 1; k < n; k++)
		if ((p[k] & 0xc0) != 0x80)
			return 0;
	/* longer than need be, halves of a pair, beyond the last */
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
	    (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

void journal_put_string(struct journal_text *t, const char *text)
{
	const unsigned char *p = (const unsigned char *) text;

	journal_put(t, "\"", 1);
	while (*p) {
		size_t n = journal_character(p);

		if (*p == '"' || *p == '\\')
			journal_add(t, "\\%c", *p);
		else if (*p < ' ' || *p == 0x7f)
			journal_add(t, "\\u%04x", *p);
		else if (!n)
			journal_add(t, "\\udc%02x", *p);
		else
			journal_put(t, (const char *) p, n);
		p += n ? n : 1;
	}
	journal_put(t, "\"", 1);
}

static void journal_put_named(struct journal_text *t, const char *name,
			      const char *text)
{
	journal_add(t, ",\"%s\":", name);
	journal_put_string(t, text);
}

static void journal_put_ranks(struct journal_text *t,
			      const struct storm_idset *ranks)
{
	journal_add(t, "\"tasks\":\"");
	for (uint32_t k = 0; k < ranks->count; k++) {
		const struct storm_range *r = &ranks->r[k];

		journal_add(t, "%s%u", k ? "," : "", r->first);
		if (r->last > r->first)
			journal_add(t, "-%u", r->last);
	}
	journal_add(t, "\"");
}

/* Local time, as Slurm's commands have it, with what it is ahead of UTC. */
static void journal_put_time(struct journal_text *t, const char *name,
			     uint64_t ms)
{
	time_t s = (time_t) (ms / 1000);
	char day[40], zone[10];
	struct tm tm;

	if (!ms || !localtime_r(&s, &tm)) {
		journal_add(t, ",\"%s\":null,\"%s_s\":null", name, name);
		return;
	}
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	strftime(zone, sizeof(zone), "%z", &tm);
	journal_add(t, ",\"%s\":\"%s.%03u%.3s:%s\",\"%s_s\":%llu.%03u", name,
		    day, (unsigned int) (ms % 1000), zone, zone + 3, name,
		    (unsigned long long) (ms / 1000),
		    (unsigned int) (ms % 1000));
}

/* ----------------------------------------------------------------------- a run --- */

char *journal_command(const struct run_what *w)
{
	struct journal_text t = { 0 };

	journal_add(&t, "\"command\":[");
	for (char **word = w->argv; *word; word++) {
		if (word > w->argv)
			journal_put(&t, ",", 1);
		journal_put_string(&t, *word);
	}
	journal_add(&t, "],\"multi_prog\":%s",
		    w->programs.count ? "true" : "false");
	journal_put_named(&t, "cwd", w->cwd);
	if (!t.failed)
		return t.buf;
	free(t.buf);
	return NULL;
}

static void journal_put_end(struct journal_text *t, const struct run_ended *e)
{
	static const char *const why[RUN_CAUSES] = {
		[RUN_NOT_STARTED] = "the program",
		[RUN_NO_CWD] = "the directory",
		[RUN_NO_START] = "the start of a task",
		[RUN_OUTPUT_LOST] = "lost output",
		[RUN_NO_STDIN] = "stdin",
		[RUN_NO_STDOUT] = "stdout",
		[RUN_NO_STDERR] = "stderr",
		[RUN_INPUT_LOST] = "lost input",
		[RUN_PMI_LOST] = "PMI",
	};
	char text[200];
	enum run_cause cause;
	int value;

	journal_put(t, "{", 1);
	journal_put_ranks(t, &e->tasks);
	if (!run_code_read(e->code, &cause, &value)) {
		journal_add(t, ",\"code\":%u}", e->code);
		return;
	}
	if (cause == RUN_EXITED) {
		journal_add(t, ",\"exit\":%d}", value);
		return;
	}
	if (cause == RUN_SIGNALED) {
		journal_add(t, ",\"signal\":%d,\"core\":%s}", value & 0x7f,
			    value & 0x80 ? "true" : "false");
		return;
	}
	if (why[cause])
		snprintf(text, sizeof(text), "%s: %s", why[cause],
			 strerror(value));
	else
		run_cause_text(cause, value, text, sizeof(text));
	journal_put_named(t, "error", text);
	journal_put(t, "}", 1);
}

/* Tasks of lost nodes, that were not heard of. */
static void journal_put_lost(struct journal_text *t, const struct user_run *run,
			     bool first)
{
	struct storm_idset lost = { 0 }, next;
	int err = storm_idset_union(&lost, &run->done);

	for (const struct run_ended *e = run->ended; e && !err; e = e->next) {
		next = (struct storm_idset) { 0 };
		err = storm_idset_minus(&lost, &e->tasks, &next);
		storm_idset_clear(&lost);
		lost = next;
	}
	if (!err && lost.count) {
		journal_add(t, first ? "{" : ",{");
		journal_put_ranks(t, &lost);
		journal_add(t, ",\"error\":\"its node is lost\"}");
	}
	t->failed |= err != 0;
	storm_idset_clear(&lost);
}

static void journal_put_usage(struct journal_text *t, const struct run_usage *u)
{
	journal_add(t, "{\"user_s\":%llu.%06llu,\"system_s\":%llu.%06llu",
		    (unsigned long long) u->user_us / 1000000,
		    (unsigned long long) u->user_us % 1000000,
		    (unsigned long long) u->system_us / 1000000,
		    (unsigned long long) u->system_us % 1000000);
	journal_add(t,
		    ",\"max_rss_kb\":%llu,\"minor_faults\":%llu,"
		    "\"major_faults\":%llu",
		    (unsigned long long) u->rss_kb,
		    (unsigned long long) u->minor_faults,
		    (unsigned long long) u->major_faults);
	journal_add(
		t,
		",\"blocks_in\":%llu,\"blocks_out\":%llu,"
		"\"switches_voluntary\":%llu,\"switches_involuntary\":%llu}",
		(unsigned long long) u->blocks_in,
		(unsigned long long) u->blocks_out,
		(unsigned long long) u->waits,
		(unsigned long long) u->preempted);
}

/* Each node with its tasks and what these have used, if it is known. */
static void journal_put_nodes(struct journal_text *t,
			      const struct journal_run *j,
			      const struct user_run *run)
{
	uint32_t nth = 0;

	for (uint32_t k = 0; run->rank && k < run->nodes.count; k++)
		for (uint32_t n = run->nodes.r[k].first;
		     n <= run->nodes.r[k].last; n++, nth++) {
			struct storm_range r = { run->rank[nth],
						 run->rank[nth + 1] - 1 };

			journal_add(t, nth ? ",{\"node\":" : "{\"node\":");
			journal_put_string(t, j->name(j->arg, n));
			journal_put(t, ",", 1);
			journal_put_ranks(t,
					  &(struct storm_idset) { &r, 1, 1 });
			journal_add(t, ",\"rusage\":");
			if (j->usage && j->usage[nth].tasks)
				journal_put_usage(t, &j->usage[nth]);
			else
				journal_add(t, "null");
			journal_put(t, "}", 1);
		}
}

char *journal_line(const struct journal_run *j, const struct user_run *run,
		   size_t *len)
{
	struct journal_text t = { 0 };

	journal_add(&t, "{\"run\":%llu", (unsigned long long) run->number);
	journal_put_named(&t, "job", j->job);
	journal_put_named(&t, "step", j->step);
	journal_put(&t, ",", 1);
	journal_put(&t, j->command, strlen(j->command));
	journal_put_time(&t, "queued", j->queued);
	journal_put_time(&t, "started", j->began);
	journal_put_time(&t, "ended", j->ended);
	journal_put_named(&t, "nodes", j->nodes);
	journal_add(&t, ",\"tasks\":%u,\"cpus\":%llu,\"status\":%d", run->tasks,
		    (unsigned long long) j->cpus, run_status(run));
	journal_add(&t, ",\"ends\":[");
	for (const struct run_ended *e = run->ended; e; e = e->next) {
		if (e != run->ended)
			journal_put(&t, ",", 1);
		journal_put_end(&t, e);
	}
	journal_put_lost(&t, run, !run->ended);
	journal_add(&t, "],\"usage\":[");
	journal_put_nodes(&t, j, run);
	journal_add(&t, "]}\n");
	*len = t.len;
	if (!t.failed)
		return t.buf;
	free(t.buf);
	return NULL;
}
