/*
 * spank_turns.c - see spank_turns.h.
 *
 * The option becomes a variable of the environment, which srun, sbatch and salloc pass
 * on.  slurmstepd finds it in the step's, and writes it into the step's record
 * (gang_step.h).  So each node has it from its own step, and no map of turns carries it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"

#include "spank_turns.h"

#define YIELD "yield"

static bool spank_turns_knows(const char *name, const char *text)
{
	if (text && !strcmp(text, YIELD))
		return true;
	slurm_error("storm: %s=%s: the allowed value is yield", name,
		    text ? text : "");
	return false;
}

static int spank_turns_choose(int val, const char *text, int remote)
{
	/* SPANK also calls it in slurmstepd, where the environment has it. */
	if (remote)
		return ESPANK_SUCCESS;
	if (!spank_turns_knows("--storm-turns", text))
		return ESPANK_BAD_ARG;
	return setenv(TURNS_ENV, text, 1) ? ESPANK_ERROR : ESPANK_SUCCESS;
}

struct spank_option spank_turns_option = {
	.name = "storm-turns",
	.arginfo = YIELD,
	.usage = "out of its turns the job gives way and is not stopped",
	.has_arg = 1,
	.cb = spank_turns_choose,
};

bool spank_turns_is_valid(void)
{
	const char *text = getenv(TURNS_ENV);

	return !text || !*text || spank_turns_knows(TURNS_ENV, text);
}

bool spank_turns_yield(spank_t sp)
{
	char text[16];

	return !spank_getenv(sp, TURNS_ENV, text, sizeof(text)) &&
	       !strcmp(text, YIELD);
}
