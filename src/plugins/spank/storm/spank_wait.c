/*
 * spank_wait.c - preload libstorm_wait.so into the tasks of a step that was asked
 * for by --storm-wait=MODE.
 *
 * The option becomes a variable of the environment.  srun, sbatch and salloc pass
 * it on, as all others; the tasks find their mode in it (wait_mode.h).  Only the
 * tasks of srun's steps get the library: a batch script starts no ranks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/storm_wait/wait_mode.h"
#include "src/storm_wait/wait_page.h"

#include "spank_wait.h"
#include "src/stepd/step_gang.h"

#define PRELOAD_ENV "LD_PRELOAD"

static int page = -1;

static void spank_wait_refuse(const char *name, const char *text)
{
	slurm_error(
		"storm: %s=%s: allowed values are spin, block[:SPIN[:NAP]] and slice[:SLICE[:OPEN]], in microseconds",
		name, text ? text : "");
}

static int spank_wait_choose(int val, const char *text, int remote)
{
	struct wait_mode mode;

	/* SPANK also calls it in slurmstepd, where the environment has it. */
	if (remote)
		return ESPANK_SUCCESS;
	if (!wait_mode_parse(text, &mode)) {
		spank_wait_refuse("--storm-wait", text);
		return ESPANK_BAD_ARG;
	}
	return setenv(WAIT_MODE_ENV, text, 1) ? ESPANK_ERROR : ESPANK_SUCCESS;
}

struct spank_option spank_wait_option = {
	.name = "storm-wait",
	.arginfo = "MODE",
	.usage = "let MPI's ranks wait by spin, block or slice",
	.has_arg = 1,
	.cb = spank_wait_choose,
};

bool spank_wait_is_valid(void)
{
	const char *text = getenv(WAIT_MODE_ENV);
	struct wait_mode mode;

	if (!text || !*text || wait_mode_parse(text, &mode))
		return true;
	spank_wait_refuse(WAIT_MODE_ENV, text);
	return false;
}

static bool spank_wait_is_srun_step(spank_t sp)
{
	uint32_t step;

	return !spank_get_item(sp, S_JOB_STEPID, &step) &&
	       step <= SLURM_MAX_NORMAL_STEP_ID;
}

/* Returns false if no library is to be preloaded, or copies the mode to `text`. */
static bool spank_wait_is_wanted(spank_t sp, char *text, int size)
{
	struct wait_mode mode;

	return !spank_getenv(sp, WAIT_MODE_ENV, text, size) &&
	       wait_mode_parse(text, &mode) && spank_wait_is_srun_step(sp);
}

void spank_wait_begin(spank_t sp)
{
	uint32_t tasks;
	char text[64];

	if (!spank_wait_is_wanted(sp, text, sizeof(text)) ||
	    spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &tasks))
		return;
	page = wait_page_create(tasks);
	if (page < 0)
		slurm_debug("storm: no account of how the tasks wait: %m");
	else
		step_gang_account(page);
}

/* Only the program gets the descriptor, and what it starts. */
static void spank_wait_give_page(spank_t sp)
{
	char name[64];

	if (page < 0 || !wait_page_name(page, name, sizeof(name)) ||
	    fcntl(page, F_SETFD, 0))
		return;
	spank_setenv(sp, WAIT_PAGE_ENV, name, 1);
}

void spank_wait_preload(spank_t sp)
{
	char text[64], others[4096], all[sizeof(others) + 512];
	int rc;

	if (!spank_wait_is_wanted(sp, text, sizeof(text)))
		return;
	if (access(STORM_WAIT_PATH, R_OK)) {
		slurm_error(
			"storm: --storm-wait=%s: cannot read %s: %s; the tasks wait as MPI does",
			text, STORM_WAIT_PATH, strerror(errno));
		return;
	}
	rc = spank_getenv(sp, PRELOAD_ENV, others, sizeof(others));
	if (rc && rc != ESPANK_ENV_NOEXIST) {
		slurm_error(
			"storm: --storm-wait=%s: cannot add to %s: %s; the tasks wait as MPI does",
			text, PRELOAD_ENV, spank_strerror(rc));
		return;
	}
	snprintf(all, sizeof(all), "%s%s%s", STORM_WAIT_PATH,
		 rc || !*others ? "" : ":", rc ? "" : others);
	spank_setenv(sp, PRELOAD_ENV, all, 1);
	spank_wait_give_page(sp);
}
