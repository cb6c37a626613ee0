/*
 * spank_storm.c - the option --launch=storm|slurm of srun, sbatch and salloc.
 *
 * The user's launcher of the paper (section 2.1) is chosen per command, so that
 * a site need not change LaunchType.  In srun the option sets
 * slurm_conf.launch_type: its callback runs before launch_init(), no later hook
 * of SPANK does.  sbatch and salloc launch nothing themselves; they hand the
 * choice to the sruns inside by the environment, under a name that begins with
 * SLURM because "sbatch --export=NONE" passes on nothing else.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "slurm/spank.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#define LAUNCH_ENV "SLURM_STORM_LAUNCH"

/* Not SPANK_PLUGIN(): its version would not carry the attribute, and all of
 * our objects are built with hidden visibility. */
__attribute__((visibility("default")))
extern const char plugin_name[], plugin_type[];
__attribute__((visibility("default")))
extern const unsigned int plugin_version, spank_plugin_version;
const char plugin_name[] = "storm";
const char plugin_type[] = "spank";
const unsigned int plugin_version = SLURM_VERSION_NUMBER;
const unsigned int spank_plugin_version = 1;

__attribute__((visibility("default")))
int slurm_spank_init(spank_t sp, int ac, char **av);

static bool known(const char *type)
{
	return !xstrcmp(type, "storm") || !xstrcmp(type, "slurm");
}

static void choose(const char *type)
{
	xfree(slurm_conf.launch_type);
	slurm_conf.launch_type = xstrdup_printf("launch/%s", type);
}

static int opt_launch(int val, const char *type, int remote)
{
	/* Also called in slurmstepd, with the value that srun was given. */
	if (remote)
		return ESPANK_SUCCESS;
	if (!known(type)) {
		slurm_error("storm: --launch=%s: allowed values are storm and slurm",
			    type ? type : "");
		return ESPANK_BAD_ARG;
	}
	if (spank_context() == S_CTX_LOCAL)
		choose(type);
	else if (setenv(LAUNCH_ENV, type, 1))
		return ESPANK_ERROR;
	return ESPANK_SUCCESS;
}

static struct spank_option option = {
	.name = "launch",
	.arginfo = "TYPE",
	.usage = "launch steps by storm (multicast) or slurm",
	.has_arg = 1,
	.cb = opt_launch,
};

int slurm_spank_init(spank_t sp, int ac, char **av)
{
	const char *type;

	switch (spank_context()) {
	case S_CTX_LOCAL:
		/* Set by sbatch, salloc or the user; the option beats it. */
		if (!(type = getenv(LAUNCH_ENV)) || !type[0])
			break;
		if (!known(type)) {
			slurm_error("storm: %s=%s: allowed values are storm and slurm",
				    LAUNCH_ENV, type);
			return ESPANK_BAD_ARG;
		}
		choose(type);
		break;
	case S_CTX_ALLOCATOR:
	case S_CTX_REMOTE:
		break;
	default:
		return ESPANK_SUCCESS;
	}
	return spank_option_register(sp, &option);
}
