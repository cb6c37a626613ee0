/*
 * head_journal.c - the journal of runs that ask for one: a line for each that is over, in
 * a file on this host.  See head_private.h.
 *
 * A thread writes, as file systems may be slow or hang.  Such a run's end is told when its
 * line is there, and no other run waits for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "head_private.h"
#include "journal.h"
#include "launcher_base.h"
#include "run_names.h"
#include "src/libstorm/base/clock.h"

/* A run that is to be in it. */
struct journal {
	struct journal *next;
	uint64_t number;
	char *path, *command;
	mode_t mode;
	uint64_t queued, began, cpus;
	uint32_t nodes;
	struct run_usage *usage; /* of its nodes; NULL: not known yet */
	bool given;		 /* its line is written, or is being so */
};

static struct journal *head_journal_of(uint64_t number)
{
	struct journal *j = head.journals;

	while (j && j->number != number)
		j = j->next;
	return j;
}

void head_journal_drop(uint64_t number)
{
	struct journal **at = &head.journals, *j;

	while ((j = *at) && j->number != number)
		at = &j->next;
	if (!j)
		return;
	*at = j->next;
	free(j->path);
	free(j->command);
	free(j->usage);
	free(j);
}

bool head_journal_begin(const struct user_run *run, const struct conn *c,
			const char *path)
{
	struct journal *j;
	int err;

	if (!*path)
		return true;
	if (!head.writes) {
		err = storm_worker_start(&head.writer, "storm_journal",
					 UINT_MAX);
		if (err)
			return false;
		head.writes = true;
	}
	j = calloc(1, sizeof(*j));
	if (!j)
		return false;
	j->number = run->number;
	j->path = strdup(path);
	j->command = journal_command(&c->what);
	j->mode = 0666 & ~(mode_t) c->what.umask;
	j->queued = storm_unix_ms();
	j->next = head.journals;
	head.journals = j;
	if (j->path && j->command)
		return true;
	head_journal_drop(run->number);
	return false;
}

bool head_journal_has(const struct user_run *run)
{
	return head_journal_of(run->number) != NULL;
}

void head_journal_began(const struct user_run *run)
{
	struct journal *j = head_journal_of(run->number);

	if (!j)
		return;
	j->began = storm_unix_ms();
	j->cpus = run_cpus(&head.runs, run);
	j->nodes = (uint32_t) storm_idset_size(&run->nodes);
	/* without memory it is not told */
	j->usage = calloc(j->nodes, sizeof(*j->usage));
}

void head_usage(struct conn *c, struct storm_in *body)
{
	const struct user_run *run = runs_find(&head.runs, c->run);
	struct journal *j = head_journal_of(c->run);
	uint32_t nth = run ? run_place(&run->nodes, c->node) : UINT32_MAX;
	struct run_usage u;

	if (!run_usage_get(body, &u)) {
		conn_close(c);
		return;
	}
	if (j && j->usage && nth < j->nodes)
		j->usage[nth] = u;
	c->taken += RUN_USAGE_LEN;
}

/* ---------------------------------------------------------------------- writing --- */

struct head_line {
	struct storm_job base;
	uint64_t number;
	char *path, *text;
	size_t len;
	mode_t mode;
	int err;
};

/* Others append, too: a line comes by one write.  Half of one is taken back, unless another
 * is behind it. */
static void head_line_work(struct storm_job *base)
{
	struct head_line *l = (struct head_line *) base;
	int fd = open(l->path,
		      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY |
			      O_NONBLOCK,
		      l->mode);
	ssize_t n = -1;
	struct stat st;
	off_t end;

	if (fd >= 0) {
		do
			n = write(fd, l->text, l->len);
		while (n < 0 && errno == EINTR);
	}
	l->err = n < 0 ? errno : 0;
	if (n >= 0 && (size_t) n < l->len) {
		l->err = ENOSPC;
		end = lseek(fd, 0, SEEK_CUR);
		if (end >= n && !fstat(fd, &st) && st.st_size == end &&
		    ftruncate(fd, end - n))
			l->err = errno;
	}
	/* some file systems tell only now */
	if (fd >= 0 && close(fd) && !l->err)
		l->err = errno;
}

static void head_line_done(void *host, struct storm_job *base)
{
	struct head_line *l = (struct head_line *) base;
	struct user_run *run = runs_find(&head.runs, l->number);

	(void) host;
	if (run && l->err)
		head_say(run->client, "error: the journal %s: %s", l->path,
			 strerror(l->err));
	if (run)
		run->held = false;
	free(l->path);
	free(l->text);
	free(l);
}

static struct head_line *head_line_make(const struct journal *j,
					const struct user_run *run)
{
	const char *job = getenv("SLURM_JOB_ID");
	const char *step = getenv("SLURM_STEP_ID");
	char *nodes = run->rank ? run_names_text(head.step.nodes, &run->nodes) :
				  NULL;
	const struct journal_run of = {
		.job = job ? job : "",
		.step = step ? step : "",
		.command = j->command,
		.nodes = nodes ? nodes : "",
		.cpus = j->cpus,
		.queued = j->queued,
		.began = j->began,
		.ended = storm_unix_ms(),
		.usage = j->usage,
		.name = head_node_name,
	};
	struct head_line *l = calloc(1, sizeof(*l));

	if (l) {
		l->base.work = head_line_work;
		l->base.done = head_line_done;
		l->number = run->number;
		l->mode = j->mode;
		l->path = strdup(j->path);
		l->text = journal_line(&of, run, &l->len);
	}
	free(nodes);
	if (!l || (l->path && l->text))
		return l;
	free(l->path);
	free(l->text);
	free(l);
	return NULL;
}

bool head_journal_end(struct user_run *run)
{
	struct journal *j = head_journal_of(run->number);
	struct head_line *l;

	if (!j)
		return true;
	if (j->given) {
		head_journal_drop(run->number);
		return true;
	}
	j->given = true;
	l = head_line_make(j, run);
	run->held = l && storm_worker_add(&head.writer, &l->base);
	if (run->held)
		return false;
	head_say(run->client, "error: the journal %s: no memory", j->path);
	head_journal_drop(run->number);
	return true;
}
