/*
 * launcher_ends.c - how tasks of a launcher end: their reports, and signals for them.
 * See launcher_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "head.h"
#include "launcher_private.h"
#include "oom.h"

void launcher_report(uint32_t id, uint32_t code)
{
	struct storm_range r = { id, id };
	const struct storm_idset ids = { &r, 1, 1 };
	int err = storm_member_report(launcher.member, RUN_REPORT, code, &ids);

	if (!err || err == STORM_ECLOSED)
		return;
	/* the head would wait for it in vain: the loss of a node ends the run */
	storm_log(STORM_LOG_ERROR, "the end of a task is lost: %s",
		  storm_strerror(err));
	_exit(1);
}

void launcher_run_drop(struct launched *run)
{
	struct launched **at = &launcher.runs;

	while (*at != run)
		at = &(*at)->next;
	*at = run->next;
	for (int k = 0; k < RUN_SOCK_FDS; k++)
		if (run->fd[k] >= 0)
			close(run->fd[k]);
	launcher_input_close(run);
	for (int k = 0; k < 2; k++)
		run_fold_destroy(run->fold[k]);
	launcher_pmi_close(run);
	relay_destroy(run->relay);
	run_what_free(&run->what);
	run_start_free(&run->start);
	free(run->form.counts);
	storm_idset_clear(&run->gpus);
	free(run->msg);
	free(run);
}

/* Its task is reported. */
static void launcher_run_less(struct launched *run)
{
	if (!--run->tasks)
		launcher_run_drop(run);
}

void launcher_task_drop(struct local_task *t)
{
	if (t && t->input >= 0)
		close(t->input);
	for (int k = 0; t && k < 2; k++) {
		if (t->pipe[k] >= 0)
			close(t->pipe[k]);
		run_lines_fini(&t->lines[k]);
	}
	free(t);
}

/* Before the last task of a run is reported, the head has what all have used.  False: not
 * yet, or it cannot be sent now. */
static bool launcher_usage_is_told(struct launched *run)
{
	if (!run->start.usage || run->tasks > 1 || run->told)
		return true;
	run->told = relay_usage(run->relay, &run->usage);
	return run->told && relay_failed(run->relay);
}

/* Report the tasks that have ended and whose output the client has. */
void launcher_tasks_report(void)
{
	struct local_task **at = &launcher.tasks, *t;

	while ((t = *at)) {
		struct launched *run = t->run;

		if (t->ended && run->relay)
			launcher_task_read(t);
		if (!t->ended || t->pipe[0] >= 0 || t->pipe[1] >= 0 ||
		    launcher_fold_has(t) ||
		    (run->relay &&
		     !relay_has_taken(run->relay, relay_sent(run->relay))) ||
		    !launcher_usage_is_told(run)) {
			at = &t->next;
			continue;
		}
		if (launcher_pmi_lost(run))
			t->code =
				run_code(RUN_PMI_LOST, launcher_pmi_lost(run));
		if (t->lost)
			t->code = run_code(RUN_INPUT_LOST, t->lost);
		/* whatever it was, output that is missing is worse */
		if (t->wrote && relay_failed(run->relay))
			t->code = run_code(RUN_OUTPUT_LOST,
					   relay_failed(run->relay));
		launcher_place_leave(run, &t->place);
		launcher_report(t->id, t->code);
		*at = t->next;
		launcher_task_drop(t);
		launcher_run_less(run);
	}
}

/* The kernel counts what it kills in the launchers' control group: one that has died of
 * SIGKILL since, and was sent none from here, is one of these. */
static uint32_t launcher_end_code(const struct local_task *t, int status)
{
	if (WIFEXITED(status))
		return run_code(RUN_EXITED, WEXITSTATUS(status));
	if (WTERMSIG(status) == SIGKILL && !t->killed &&
	    oom_now() > launcher.ooms) {
		launcher.ooms++;
		return run_code(RUN_NO_MEMORY, 0);
	}
	return run_code(RUN_SIGNALED,
			WTERMSIG(status) | (WCOREDUMP(status) ? 0x80 : 0));
}

void launcher_reap(void)
{
	struct rusage used;
	int status;
	pid_t pid;

	/* orphans are ours, too: nobody waits for them */
	while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0) {
		struct local_task *t = launcher.tasks;

		if (pid == launcher.head_pid) {
			launcher.head_pid = 0;
			launcher.headless = head_end(status);
		}
		if (launcher_pmix_reaped(pid, status))
			continue;
		while (t && (t->pid != pid || t->ended))
			t = t->next;
		if (!t)
			continue;
		t->ended = true;
		run_usage_add(&t->run->usage, &used);
		t->code = launcher_end_code(t, status);
		launcher_pmi_ended(t);
	}
}

/* A task can leave its group. */
static void launcher_kill_task(const struct local_task *t, int sig)
{
	if (kill(-t->pid, sig) || getpgid(t->pid) != t->pid)
		kill(t->pid, sig);
}

static bool launcher_ends(int sig)
{
	return sig != SIGCONT && sig != SIGSTOP && sig != SIGTSTP &&
	       sig != SIGTTIN && sig != SIGTTOU && sig != SIGCHLD &&
	       sig != SIGURG && sig != SIGWINCH;
}

/* number 0: of all runs. */
void launcher_kill(uint64_t number, int sig)
{
	/* what is not there yet takes no signal but such as would end it */
	for (struct launched *run = launcher.runs; run; run = run->next)
		if (run->waits && launcher_ends(sig) &&
		    (!number || run->start.number == number))
			run->killed = sig;
	for (struct local_task *t = launcher.tasks; t; t = t->next)
		if (!t->ended && (!number || t->run->start.number == number)) {
			t->killed |= sig == SIGKILL;
			launcher_kill_task(t, sig);
		}
}

/* ---------------------------------------------------------------- left behind --- */

#define SWEEPS 8		 /* while new ones are found */
#define ENVIRONMENT (256u << 10) /* bytes of it that are looked at */

static bool launcher_has_variable(const char *env, size_t len, const char *what)
{
	for (size_t at = 0; at < len; at += strlen(env + at) + 1)
		if (!strcmp(env + at, what))
			return true;
	return false;
}

/* Is it of this run?  A step has one head, whose life is in the variable, too. */
static bool launcher_has_run(const char *env, size_t len, uint64_t number)
{
	char end[24];

	snprintf(end, sizeof(end), ":%llu", (unsigned long long) number);
	for (size_t at = 0; at < len; at += strlen(env + at) + 1) {
		const char *life = env + at + strlen(RUN_PARENT_NAME);

		if (!strncmp(env + at, RUN_PARENT_NAME,
			     strlen(RUN_PARENT_NAME)) &&
		    !strcmp(life + strcspn(life, ":"), end))
			return true;
	}
	return false;
}

/* Has the process the number of this run, in the step of this launcher? */
static bool launcher_is_left(const char *pid, uint64_t number, char *env,
			     size_t size)
{
	const char *job = getenv("SLURM_JOB_ID");
	char what[64];
	size_t len = 0;
	ssize_t n;
	int fd;

	snprintf(what, sizeof(what), "/proc/%.20s/environ", pid);
	fd = open(what, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, env + len, size - 1 - len)) > 0)
		len += (size_t) n;
	if (fd >= 0)
		close(fd);
	env[len] = '\0';
	if (!launcher_has_run(env, len, number))
		return false;
	snprintf(what, sizeof(what), "SLURM_STEP_ID=%.20s", launcher.step);
	if (!launcher_has_variable(env, len, what))
		return false;
	snprintf(what, sizeof(what), "SLURM_JOB_ID=%.20s", job ? job : "");
	return launcher_has_variable(env, len, what);
}

/* Those that left their task's group, its session and its parent: their variables are
 * what remains. */
void launcher_sweep(uint64_t number)
{
	char *env = malloc(ENVIRONMENT);
	bool found = true;

	for (int k = 0; env && found && k < SWEEPS; k++) {
		DIR *proc = opendir("/proc");
		struct dirent *e;

		found = false;
		while (proc && (e = readdir(proc))) {
			if (*e->d_name < '1' || *e->d_name > '9' ||
			    !launcher_is_left(e->d_name, number, env,
					      ENVIRONMENT))
				continue;
			found |= !kill((pid_t) strtol(e->d_name, NULL, 10),
				       SIGKILL);
		}
		if (proc)
			closedir(proc);
	}
	free(env);
}
