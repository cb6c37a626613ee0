/*
 * agent_container.h - the job's mount namespace, for its files.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_CONTAINER_H
#define STORM_AGENT_CONTAINER_H

#include <stdint.h>
#include <sys/types.h>

void agent_container_init(const char *node);

/* A file_join_fn (file_child.h). */
int agent_container_join(uint32_t job_id, uid_t uid);

#endif
