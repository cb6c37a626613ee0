/*
 * spank_launch_22_05.c - --launch in Slurm 22.05, which has launch plugins.  A
 * site need not change LaunchType: the option sets slurm_conf.launch_type.  Its
 * callback runs before launch_init(), and no later hook of SPANK does.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "spank_launch.h"

void spank_launch_by(const char *type)
{
	xfree(slurm_conf.launch_type);
	slurm_conf.launch_type = xstrdup_printf("launch/%s", type);
}

void spank_launch_opted(void)
{
}

void spank_launch_begins(void)
{
}
