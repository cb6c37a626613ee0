/*
 * spank_launch_24_11.c - --launch since Slurm 23.02, without launch plugins.
 * The site's srun becomes libexec/slurm-storm/srun, with the same arguments.
 * This happens while srun reads its options, before its first message.  Where
 * that srun cannot serve, the site's own goes on, and says why.
 *
 * Slurm launches a step on few nodes without a file (launch_few.h).  If that is
 * what an option seems to ask for, the site's srun goes on until it has read all
 * options, and it becomes ours only if they ask for more.  Not always so late: the
 * site's cli_filter plugins would run in both.
 *
 * The same holds for an srun that seems to go by launchers (resident_srun.h), which then
 * needs ours not at all.
 *
 * Our srun is recognized by a symbol.  A variable of the environment would
 * reach the job.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/spank.h"

#include "src/common/slurm_opt.h"

#include "resident_srun.h"
#include "spank_launch.h"
#include "spank_signals.h"
#include "src/storm_common/launch_few.h"

#define OTHERWISE "falling back to Slurm's standard launch"

/* The process's arguments, in a list of their own (free); the first one is the
 * start of their text (free).  NULL: errno is set. */
static char **spank_launch_argv(void)
{
	size_t len = 0, room = 4096, n = 0, got;
	char *text = malloc(room), **argv = NULL, *at;
	FILE *f = fopen("/proc/self/cmdline", "re");

	while (f && text && (got = fread(text + len, 1, room - len, f)))
		if ((len += got) == room)
			text = realloc(text, room *= 2);
	if (f)
		fclose(f);
	if (!f || !text || !len || text[len - 1])
		goto fail;
	for (at = text; at < text + len; at += strlen(at) + 1)
		n++;
	if (!(argv = calloc(n + 1, sizeof(*argv))))
		goto fail;
	for (n = 0, at = text; at < text + len; at += strlen(at) + 1)
		argv[n++] = at;
	return argv;
fail:
	free(text);
	return NULL;
}

/* Does a debugger control this srun?  Slurm's own launch serves debuggers. */
static bool spank_launch_is_debugged(void)
{
	const int *debugged = dlsym(RTLD_DEFAULT, "MPIR_being_debugged");

	return debugged && *debugged;
}

/* Returns if the site's srun must go on; the reason was logged. */
static void spank_launch_24_11(void)
{
	char **argv;
	int err;

	if (spank_launch_is_debugged()) {
		slurm_info(
			"warning: storm: a debugger is not supported; " OTHERWISE);
		return;
	}
	/* SPANK's loader compares the release alone.  This is the interface of
	 * the library that our srun would load. */
	if (slurm_api_version() != SLURM_API_VERSION) {
		slurm_info(
			"warning: storm: built for Slurm " SLURM_VERSION_STRING
			", but this host's libslurm has version %ld, not %d; " OTHERWISE,
			SLURM_VERSION_MAJOR(slurm_api_version()),
			SLURM_VERSION_MAJOR(SLURM_API_VERSION));
		return;
	}
	if (access(STORM_SRUN_PATH, X_OK) || !(argv = spank_launch_argv())) {
		slurm_info("warning: storm: cannot execute %s: %s; " OTHERWISE,
			   STORM_SRUN_PATH, strerror(errno));
		return;
	}
	spank_signals_reset();
	execv(STORM_SRUN_PATH, argv);
	err = errno;
	spank_signals_restore();
	free(argv[0]);
	free(argv);
	slurm_info("warning: storm: cannot execute %s: %s; " OTHERWISE,
		   STORM_SRUN_PATH, strerror(err));
}

/* --launch=storm was given, and what follows may be for few nodes. */
static bool undecided;

static bool spank_launch_is_few(const char *value)
{
	long n = value ? strtol(value, NULL, 10) : 0;

	return n > 0 && n < launch_few_least();
}

/* The "2" of "-N2", and of "-N" and "2". */
static const char *spank_launch_value(const char *name, char *const *arg)
{
	size_t len = strlen(name);
	bool is_long = name[1] == '-';

	if (strncmp(*arg, name, len))
		return NULL;
	if (!(*arg)[len])
		return arg[1];
	return is_long ? ((*arg)[len] == '=' ? *arg + len + 1 : NULL) :
			 *arg + len;
}

/* Do arguments and variables look like few nodes or few tasks, and no file? */
static bool spank_launch_seems_few(char *const *argv)
{
	static const char *const names[] = { "-N", "-n", "--nodes",
					     "--ntasks" };
	bool few = spank_launch_is_few(getenv("SLURM_JOB_NUM_NODES")) ||
		   spank_launch_is_few(getenv("SLURM_NTASKS"));
	bool file = getenv("SLURM_BCAST");

	for (char *const *a = argv; a && *a; a++) {
		file |= spank_launch_value("--bcast", a) != NULL;
		for (int i = 0; i < 4; i++)
			few |= spank_launch_is_few(
				spank_launch_value(names[i], a));
	}
	return few && !file;
}

/* Is it better to wait until srun has read its options? */
static bool spank_launch_can_wait(void)
{
	char **argv = spank_launch_argv();
	bool can = resident_srun_seems(argv) ||
		   (!launch_few_is_timed() && spank_launch_seems_few(argv));

	if (argv)
		free(argv[0]);
	free(argv);
	return can;
}

/* Will Slurm launch this component?  Our srun is not needed for that. */
static bool spank_launch_leaves(const slurm_opt_t *opt)
{
	return opt && opt->srun_opt && !launch_few_is_timed() &&
	       launch_few_surely(opt);
}

void spank_launch_by(const char *type)
{
	bool storm = !strcmp(type, "storm");
	void (*serve)(bool) = dlsym(RTLD_DEFAULT, "storm_srun_serve");

	undecided = storm && !serve && spank_launch_can_wait();
	if (serve)
		serve(storm);
	else if (storm && !undecided)
		spank_launch_24_11();
}

void spank_launch_opted(void)
{
	if (!undecided || spank_launch_leaves(dlsym(RTLD_DEFAULT, "opt")))
		return;
	undecided = false;
	spank_launch_24_11();
}

void spank_launch_begins(void)
{
	const slurm_opt_t *opt = dlsym(RTLD_DEFAULT, "opt");

	if (undecided)
		launch_few_say_surely(opt);
}
