/*
 * spank_launch_24_11.c - --launch since Slurm 23.02, without launch plugins.
 * The site's srun becomes libexec/slurm-storm/srun, with the same arguments.
 * This happens while srun reads its options, before its first message.  Where
 * that srun cannot serve, the site's own goes on, and says why.
 *
 * Slurm launches a step on one node without a file (launch_module.h).  If that
 * is what an option seems to ask for, the site's srun goes on until it has read
 * all options, and it becomes ours only if they ask for more.  Not always so
 * late: the site's cli_filter plugins would run in both.
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

#include "spank_launch.h"
#include "spank_signals.h"

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

/* --launch=storm was given, and what follows may be for one node. */
static bool undecided;

static bool spank_launch_is_one(const char *value)
{
	return value && !strcmp(value, "1");
}

/* Does an argument or a variable look like one node or one task? */
static bool spank_launch_seems_alone(void)
{
	static const char *const words[] = { "-N1", "-n1", "--nodes=1",
					     "--ntasks=1" };
	static const char *const names[] = { "-N", "-n", "--nodes",
					     "--ntasks" };
	bool alone = spank_launch_is_one(getenv("SLURM_JOB_NUM_NODES")) ||
		     spank_launch_is_one(getenv("SLURM_NTASKS"));
	char **argv = alone ? NULL : spank_launch_argv();

	for (char **a = argv; a && *a && !alone; a++)
		for (int i = 0; i < 4; i++)
			alone |= !strcmp(*a, words[i]) ||
				 (!strcmp(*a, names[i]) &&
				  spank_launch_is_one(a[1]));
	if (argv)
		free(argv[0]);
	free(argv);
	return alone;
}

/* What launch_module_needed() can never need, from the options alone. */
static bool spank_launch_is_alone(const slurm_opt_t *opt)
{
	return opt && opt->srun_opt && !opt->srun_opt->bcast_flag &&
	       (opt->max_nodes == 1 || (opt->ntasks_set && opt->ntasks == 1));
}

void spank_launch_by(const char *type)
{
	bool storm = !strcmp(type, "storm");
	void (*serve)(bool) = dlsym(RTLD_DEFAULT, "storm_srun_serve");

	undecided = storm && !serve && spank_launch_seems_alone();
	if (serve)
		serve(storm);
	else if (storm && !undecided)
		spank_launch_24_11();
}

void spank_launch_opted(void)
{
	if (undecided && !spank_launch_is_alone(dlsym(RTLD_DEFAULT, "opt")))
		spank_launch_24_11();
}
