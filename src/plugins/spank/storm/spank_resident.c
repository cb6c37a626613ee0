/*
 * spank_resident.c - see spank_resident.h.
 *
 * They begin where a user would call "storm run --start" first: in the batch step, or
 * under salloc on its host.  The option is this job's.  SPANK has it in variables of the
 * environment, which would make jobs resident that are submitted in this one: none of
 * them reaches the script or the command.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurm/slurm.h"

#include "spank_resident.h"

/* What SPANK calls the option; and what sbatch makes of that for a job's scripts of the
 * site, which "--export=NONE" leaves. */
#define OPTION_ENV "_SLURM_SPANK_OPTION_storm_resident"
#define SCRIPTS_ENV "SLURM_SPANK_" OPTION_ENV

static bool wanted;
static char *job_before; /* salloc: the job that it is in; or NULL */

/* In a grandchild of what becomes the script: as "storm run --start &" in it. */
__attribute__((noreturn)) static void resident_exec(char **env)
{
	static char *const argv[] = { "storm", "run", "--start", NULL };
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	close_range(STDERR_FILENO + 1, ~0U, 0);
	execve(STORM_PATH, argv, env);
	dprintf(STDERR_FILENO,
		"storm: --resident: no launchers are started: %s: %s\n",
		STORM_PATH, strerror(errno));
	_exit(1);
}

/* A program that waits for its children must not find one that it has not started. */
static void resident_start(char **env)
{
	pid_t pid = fork();

	if (!pid) {
		pid = fork();
		if (!pid)
			resident_exec(env);
		_exit(pid < 0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		dprintf(STDERR_FILENO,
			"storm: --resident: no launchers are started: fork: %s\n",
			strerror(errno));
}

void spank_resident_begin(spank_t sp)
{
	char text[16], **env;
	uint32_t step;

	if (spank_get_item(sp, S_JOB_STEPID, &step) ||
	    step != SLURM_BATCH_SCRIPT)
		return;
	if (spank_getenv(sp, SCRIPTS_ENV, text, sizeof(text)) !=
	    ESPANK_ENV_NOEXIST) {
		wanted = true;
		spank_unsetenv(sp, SCRIPTS_ENV);
	}
	if (wanted && !spank_get_item(sp, S_JOB_ENV, &env))
		resident_start(env);
}

/* In a child of salloc's, before it executes the command: salloc has no hook of SPANK
 * behind the allocation.  Other children have no other job than salloc has. */
static void resident_in_child(void)
{
	const char *job = getenv("SLURM_JOB_ID");
	extern char **environ;

	if (!wanted || !job || (job_before && !strcmp(job, job_before)))
		return;
	wanted = false;
	unsetenv(OPTION_ENV);
	unsetenv(SCRIPTS_ENV);
	resident_start(environ);
}

static int spank_resident_choose(int val, const char *text, int remote)
{
	const char *job = getenv("SLURM_JOB_ID");

	if (wanted)
		return ESPANK_SUCCESS; /* in each part of a het job */
	wanted = true;
	if (remote || strcmp(program_invocation_short_name, "salloc"))
		return ESPANK_SUCCESS;
	job_before = job ? strdup(job) : NULL;
	if (!pthread_atfork(NULL, NULL, resident_in_child))
		return ESPANK_SUCCESS;
	slurm_error("storm: --resident: no memory");
	return ESPANK_ERROR;
}

struct spank_option spank_resident_option = {
	.name = "resident",
	.usage = "start launchers for storm run with the job",
	.cb = spank_resident_choose,
};
