/*
 * status_begin.c - see status_begin.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdio.h>

#include "slurm/slurm.h"

#include "src/storm_common/slurm_build.h"
#include "status_begin.h"

static void status_quiet(enum storm_log_level level, const char *msg)
{
	if (level == STORM_LOG_ERROR)
		fprintf(stderr, "storm: %s\n", msg);
}

bool status_begin(const char *list, struct storm_conf *conf,
		  struct status_nodes *nodes)
{
	char *why = NULL;

	if (slurm_build_refusal()) {
		fprintf(stderr, "storm: %s\n", slurm_build_refusal());
		return false;
	}
	slurm_init(NULL);
	storm_log_set(status_quiet);
	if (storm_conf_load(conf, &why)) {
		fprintf(stderr, "storm: %s\n", why);
		return false;
	}
	return status_nodes_find(list, conf->set.port, nodes);
}

void status_say(int err)
{
	fprintf(stderr,
		"storm: the agents cannot be asked: %s; storm check looks at this host, and -w asks fewer nodes\n",
		storm_strerror(err));
}
