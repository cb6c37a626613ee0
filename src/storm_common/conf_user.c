/*
 * conf_user.c - see conf_user.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf_user.h"

void conf_user_read(struct storm_conf *out, conf_fault_fn told, void *arg)
{
	const char *slurm = getenv("SLURM_CONF");
	const char *slash = slurm ? strrchr(slurm, '/') : NULL;
	struct conf_sources from = { 0 };
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s/storm.conf",
		 slash ? (int) (slash - slurm) : (int) strlen("/etc/slurm"),
		 slash ? slurm : "/etc/slurm");
	storm_conf_default(out);
	if (access(path, R_OK))
		return;
	from.path = path;
	conf_read(&from, out, NULL, told, arg);
}
