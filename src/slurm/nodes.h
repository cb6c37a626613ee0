/*
 * nodes.h - what Slurm knows of nodes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_NODES_H
#define STORM_SLURM_NODES_H

#include <stdbool.h>

#include "slurm/slurm.h"
#include "src/common/read_config.h"

/* Did slurmctld say where it is?  Then slurm.conf need not have it. */
static inline bool node_is_dynamic(const char *name)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 0)
	(void) name;
	return false;
#else
	bool dynamic = false;

	slurm_conf_check_addr(name, &dynamic);
	return dynamic;
#endif
}

#endif
