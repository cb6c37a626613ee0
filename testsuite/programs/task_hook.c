/*
 * task_hook.c - a site's SPANK plugin that has work to do in each task, or with -DSPARE
 * an option alone.  -DVERSION: Slurm's (SLURM_VERSION_NUMBER).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stddef.h>

#ifdef SPARE
const char plugin_name[] = "site_spare";
#else
const char plugin_name[] = "site_hook";
#endif
const char plugin_type[] = "spank";
const unsigned int plugin_version = VERSION;
const unsigned int spank_plugin_version = 1;

/* As slurm/spank.h has it. */
struct spank_option {
	char *name, *arginfo, *usage;
	int has_arg, val;
	int (*cb)(int val, const char *text, int remote);
};

#ifdef SPARE
struct spank_option spank_options[] = {
	{ "site-spare", NULL, "nothing", 0, 0, NULL },
	{ NULL, NULL, NULL, 0, 0, NULL },
};
int slurm_spank_init(void *sp, int ac, char **av)
{
	return 0;
}
#else
int slurm_spank_task_init(void *sp, int ac, char **av)
{
	return 0;
}
#endif
