/*
 * agent_container.h - enters the job's mount namespace.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_CONTAINER_H
#define STORM_AGENT_CONTAINER_H

#include <stdint.h>
#include <sys/types.h>

/* Find the plugin.  Before agent_container_join(), when slurm.conf was read. */
void agent_container_init(const char *node);

/* A file_join_fn (file_nursery.h): enter the namespace of this job.
 * SLURM_SUCCESS, also if the site has no JobContainerType; or an error. */
int agent_container_join(uint32_t job_id, uid_t uid);

#endif
