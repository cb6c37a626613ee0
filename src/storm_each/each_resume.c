/*
 * each_resume.c - see each_resume.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "each_joblog.h"
#include "each_options.h"
#include "each_resume.h"

/* A task as its last line has it. */
struct task_past {
	uint64_t seq;
	size_t line;
	bool failed;
};

struct each_resume {
	struct task_past *task; /* by seq, each once */
	size_t count, room;
	uint64_t end; /* of the whole lines, in bytes */
	bool with_failed;
};

static bool resume_add(struct each_resume *r, const struct task_past *task)
{
	if (r->count == r->room) {
		size_t room = r->room ? r->room * 2 : 64;
		struct task_past *more =
			reallocarray(r->task, room, sizeof(*more));

		if (!more)
			return false;
		r->task = more;
		r->room = room;
	}
	r->task[r->count++] = *task;
	return true;
}

static int past_order(const void *a, const void *b)
{
	const struct task_past *x = a, *y = b;

	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return x->line < y->line ? -1 : 1;
}

/* Each task once: its last line counts. */
static void resume_settle(struct each_resume *r)
{
	size_t kept = 0;

	if (r->count)
		qsort(r->task, r->count, sizeof(*r->task), past_order);
	for (size_t k = 0; k < r->count; k++)
		if (k + 1 == r->count || r->task[k + 1].seq != r->task[k].seq)
			r->task[kept++] = r->task[k];
	r->count = kept;
}

/* All of the file.  A last line without its end was cut off when its writer died: what
 * it says is not known to be whole. */
static bool resume_lines(struct each_resume *r, FILE *in, const char *path)
{
	struct each_joblog_entry e;
	struct task_past task = { .line = 0 };
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	bool fine = true;

	while (fine && (len = getline(&line, &room, in)) > 0) {
		int is;

		if (line[len - 1] != '\n')
			break;
		is = each_joblog_parse(line, &e);
		r->end += (uint64_t) len;
		task.line++;
		if (is < 0)
			run_say("--joblog %s: line %zu is not one of a joblog: take another file, or correct it",
				path, task.line);
		task.seq = e.seq;
		task.failed = is > 0 && (e.exitval || e.signal);
		if (is > 0 && !resume_add(r, &task)) {
			run_say("--joblog %s: no memory", path);
			is = -1;
		}
		fine = is >= 0;
	}
	if (fine && ferror(in)) {
		run_say("cannot read %s: %s", path, strerror(errno));
		fine = false;
	}
	free(line);
	return fine;
}

struct each_resume *each_resume_read(const char *joblog, bool with_failed)
{
	struct each_resume *r = calloc(1, sizeof(*r));
	FILE *in = r ? fopen(joblog, "re") : NULL;
	bool fine = r != NULL;

	if (!r) {
		run_say("no memory");
		return NULL;
	}
	r->with_failed = with_failed;
	if (in) {
		fine = resume_lines(r, in, joblog);
		fclose(in);
	} else if (errno != ENOENT) {
		run_say("cannot read %s: %s", joblog, strerror(errno));
		fine = false;
	}
	if (!fine) {
		each_resume_destroy(r);
		return NULL;
	}
	resume_settle(r);
	return r;
}

bool each_resume_done(const struct each_resume *r, uint64_t seq)
{
	size_t from = 0, to = r->count;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (r->task[mid].seq == seq)
			return !(r->with_failed && r->task[mid].failed);
		if (r->task[mid].seq < seq)
			from = mid + 1;
		else
			to = mid;
	}
	return false;
}

uint64_t each_resume_count(const struct each_resume *r)
{
	uint64_t n = 0;

	for (size_t k = 0; k < r->count; k++)
		n += !(r->with_failed && r->task[k].failed);
	return n;
}

uint64_t each_resume_end(const struct each_resume *r)
{
	return r->end;
}

void each_resume_destroy(struct each_resume *r)
{
	if (!r)
		return;
	free(r->task);
	free(r);
}
