/*
 * launcher_runs.c - how a run begins on this node.  See launcher_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "launcher_private.h"
#include "oom.h"
#include "relay.h"
#include "run_names.h"
#include "runs.h"

/* The descriptors of a task that lead to no file, of which theirs[] are to be closed
 * here, and what the launcher reads.  False: none are left. */
static bool launcher_fds(struct launched *run, struct local_task *t,
			 struct task_stdio *io, int (*theirs)[4])
{
	uint32_t rank = t->id - run->start.first;
	bool lent = run->lent && (run->what.input != RUN_INPUT_ONE ||
				  run->what.input_rank == rank);

	if (!launcher_input_pipe(t, rank, &(*theirs)[0]) ||
	    !launcher_pmi_pair(t, &(*theirs)[3]))
		return false;
	io->pmi = (*theirs)[3] >= 0 ? (*theirs)[3] : 0;
	if (run->what.pty) {
		io->pty = true;
		io->fd[0] = io->fd[1] = io->fd[2] = (*theirs)[0];
		errno = EINVAL;
		return (*theirs)[0] >= 0 && run->start.tasks == 1;
	}
	io->fd[0] = (*theirs)[0] >= 0 ? (*theirs)[0] :
		    lent	      ? run->fd[0] :
					launcher.null;
	for (int k = 1; k < 3; k++) {
		int p[2];

		io->fd[k] = run->fd[k];
		if (io->fd[k] >= 0 || io->path[k] || (k == 2 && io->err_as_out))
			continue;
		if (pipe2(p, O_CLOEXEC))
			return false;
		fcntl(p[0], F_SETFL, O_NONBLOCK);
		t->pipe[k - 1] = p[0];
		io->fd[k] = (*theirs)[k] = p[1];
	}
	return true;
}

/* What the rank executes; *own is to be freed.  NULL: no memory. */
static char *const *launcher_argv(const struct run_what *w, uint32_t rank,
				  char ***own)
{
	*own = NULL;
	if (!w->programs.count)
		return w->argv;
	*own = run_programs_argv(&w->programs, rank);
	return *own;
}

static void launcher_start_task(struct launched *run, uint32_t local,
				uint32_t rank)
{
	struct local_task *t = calloc(1, sizeof(*t));
	uint32_t id = run->start.first + rank;
	uint32_t code = run_code(RUN_NO_START, ENOMEM), placed = 0;
	struct task_stdio io = { .fd = { -1, -1, -1 } };
	int theirs[4] = { -1, -1, -1, -1 };
	char **env = NULL, **mpi = NULL, **own = NULL;
	char *const *argv = launcher_argv(&run->what, rank, &own);

	if (t) {
		t->run = run;
		t->id = id;
		t->input = t->pipe[0] = t->pipe[1] = -1;
		for (int k = 0; run->what.label && k < 2; k++)
			run_lines_label(&t->lines[k], rank, run->start.tasks);
		placed = launcher_place(run, local, &t->place);
		if (!placed && argv && task_paths(&run->form, local, &io) &&
		    launcher_pmi_env(run, local, &mpi))
			env = task_env(&run->form, local, &t->place, mpi);
	}
	if (env && launcher_fds(run, t, &io, &theirs))
		t->pid = task_start(&run->form, argv, env, &io, &t->place,
				    &code);
	else if (env)
		code = run_code(RUN_NO_START, errno);
	else if (placed)
		code = placed;
	for (int k = 0; k < 4; k++)
		if (theirs[k] >= 0)
			close(theirs[k]);
	free(env);
	free(mpi);
	free(own);
	task_paths_free(&io);
	if (t && t->pid) {
		t->next = launcher.tasks;
		launcher.tasks = t;
		return;
	}
	if (t)
		launcher_place_leave(run, &t->place);
	launcher_report(id, code);
	if (t)
		launcher_pmi_not_started(t);
	launcher_task_drop(t);
	run->tasks--;
}

static void launcher_report_all(const struct launched *run, uint32_t first,
				uint32_t n, uint32_t code)
{
	for (uint32_t k = 0; k < n; k++)
		launcher_report(run->start.first + first + k, code);
}

/* Give it what its tasks read from and write to.  False: all of them are reported. */
static bool launcher_run_files(struct launched *run, uint32_t first, uint32_t n)
{
	bool local = run->start.local == launcher.self;
	uint32_t code = 0;
	int err = 0;

	if (local && run->start.channel)
		err = launcher_door_files(run->start.channel, &run->fd);
	else if (local)
		err = launcher_files_take(run);
	run->lent = local && run_lends(&run->start, &run->what);
	if (!err &&
	    (run->start.usage ||
	     !(local && (run->lent || run->what.input == RUN_INPUT_NONE)))) {
		run->relay = relay_create(&run->start, launcher.self,
					  &launcher.munge);
		if (!run->relay || !launcher_input_open(run, first, n) ||
		    !launcher_fold_open(run, first, n))
			err = ENOMEM;
	}
	if (err)
		code = run_code(RUN_NO_START, err);
	if (!code)
		code = launcher_places_run(run, n);
	if (!code)
		code = launcher_pmi_open(run, first, n);
	if (code) {
		launcher_places_leave(run);
		launcher_report_all(run, first, n, code);
	}
	return !code;
}

/* The client's is its task's alone: who writes to it is to see when that closes it. */
static void launcher_lose_input(struct launched *run)
{
	if (run->fd[0] >= 0)
		close(run->fd[0]);
	run->fd[0] = -1;
}

/* Start its tasks, unless they wait, or report them, if they cannot. */
static void launcher_begin_tasks(struct launched *run)
{
	uint32_t first = run->start.rank[run->form.nth], n = run->tasks, code;

	if (launcher_pmi_waits(run, &code) && !code && !run->killed)
		return;
	run->waits = false;
	if (run->killed)
		code = run_code(RUN_SIGNALED, run->killed);
	if (code) {
		launcher_report_all(run, first, n, code);
		launcher_run_drop(run);
		return;
	}
	for (uint32_t k = 0; k < n; k++)
		launcher_start_task(run, k, first + k);
	launcher_lose_input(run);
	if (!run->tasks)
		launcher_run_drop(run);
}

void launcher_begin(struct storm_in *in, uint8_t *msg)
{
	struct launched *run = calloc(1, sizeof(*run));
	uint32_t first, n;

	if (!run || !run_start_get(in, &run->start)) {
		/* likewise */
		storm_log(STORM_LOG_ERROR, "a run cannot be read");
		_exit(1);
	}
	/* without memory the next one says it again */
	storm_member_forget(launcher.member, RUN_REPORT, &run->start.past);
	if (!launcher.tasks) /* a child of a task may have been killed, too */
		launcher.ooms = oom_now();
	run->msg = msg;
	for (int k = 0; k < RUN_SOCK_FDS; k++)
		run->fd[k] = -1;
	run->next = launcher.runs;
	launcher.runs = run;
	run->form = (struct task_form) {
		.what = &run->what,
		.start = &run->start,
		.node = launcher.self,
		.nth = run_place(&run->start.nodes, launcher.self),
		.name = launcher.name,
		.step = launcher.step,
		.counts = run_counts_text(
			run->start.rank,
			(uint32_t) storm_idset_size(&run->start.nodes)),
	};
	if (run->form.nth == UINT32_MAX) {
		launcher_run_drop(run);
		return;
	}
	first = run->start.rank[run->form.nth];
	n = run->start.rank[run->form.nth + 1] - first;
	run->tasks = n;
	if (!run_what_get(in, &run->what)) {
		launcher_report_all(run, first, n,
				    run_code(RUN_NO_START, EBADMSG));
		launcher_run_drop(run);
		return;
	}
	if (!launcher_run_files(run, first, n)) {
		launcher_run_drop(run);
		return;
	}
	run->waits = true;
	/* Slurm's signal came before it: the step would wait for new tasks */
	if (launcher.ending)
		run->killed = SIGTERM;
	launcher_begin_tasks(run);
}

void launcher_begin_rest(void)
{
	struct launched *run = launcher.runs, *next;

	for (; run; run = next) {
		next = run->next;
		if (run->waits)
			launcher_begin_tasks(run);
	}
}
