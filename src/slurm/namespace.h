/*
 * namespace.h - plugins that give each job a mount namespace: job_container
 * until 25.05, namespace since.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_NAMESPACE_H
#define STORM_SLURM_NAMESPACE_H

#include <string.h>

#include "slurm/slurm.h"

/* The member of slurm_conf with their names, their type, and the function that
 * joins a job's. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 11, 0)
#define NAMESPACE_PLUGINS job_container_plugin
#define NAMESPACE_TYPE "job_container/"
#define NAMESPACE_JOIN "container_p_join"
#else
#define NAMESPACE_PLUGINS namespace_plugin
#define NAMESPACE_TYPE "namespace/"
#define NAMESPACE_JOIN "namespace_p_join"
#endif

/* found: the address of NAMESPACE_JOIN in a plugin. */
static inline int namespace_join(void *found, uint32_t job_id, uid_t uid)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 0)
	int (*join)(uint32_t job_id, uid_t uid) = NULL;

	memcpy(&join, &found, sizeof(join));
	return join(job_id, uid);
#else
	int (*join)(slurm_step_id_t * step, uid_t uid, bool create) = NULL;
	slurm_step_id_t step = {
		.job_id = job_id,
		.step_id = NO_VAL,
		.step_het_comp = NO_VAL,
	};

	memcpy(&join, &found, sizeof(join));
	return join(&step, uid, false);
#endif
}

#endif
