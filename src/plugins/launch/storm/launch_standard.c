/*
 * launch_standard.c - Slurm's own launch plugin: see launch_standard.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "src/common/log.h"
#include "src/common/plugin.h"
#include "src/common/read_config.h"
#include "src/common/xstring.h"

#include "launch_standard.h"

const struct launch_standard *launch_standard_load(void)
{
	/* in the order of the structure */
	static const char *names[] = {
		"launch_p_setup_srun_opt",  "launch_p_handle_multi_prog_verify",
		"launch_p_create_job_step", "launch_p_step_launch",
		"launch_p_step_wait",	    "launch_p_step_terminate",
		"launch_p_print_status",    "launch_p_fwd_signal",
	};
	static struct launch_standard ops;
	const int n = sizeof(names) / sizeof(names[0]);

	if (plugin_load_and_link("launch/slurm", n, names, (void **) &ops) ==
	    PLUGIN_INVALID_HANDLE) {
		error("storm: cannot load launch/slurm; check PluginDir in slurm.conf");
		return NULL;
	}
	return &ops;
}

/* The name may stand elsewhere in this Slurm: look before it is replaced. */
void launch_standard_rename(void)
{
	static const char ours[] = "launch/storm";
	char name[sizeof(ours)] = "";
	struct iovec to = { name, sizeof(name) };
	struct iovec from = { slurm_conf.launch_type, sizeof(name) };

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != sizeof(name) ||
	    memcmp(name, ours, sizeof(name)))
		return;
	strcpy(slurm_conf.launch_type, "launch/slurm");
}
