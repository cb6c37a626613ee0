/*
 * file_bcast.h - Slurm's broadcast of files.  It is in srun and sbcast
 * themselves until 25.11, and in libslurmfull since.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_FILE_BCAST_H
#define STORM_SLURM_FILE_BCAST_H

#include "slurm/slurm.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 5, 0)
#include "src/bcast/file_bcast.h"
#define SLURM_FILE_BCAST_C "src/bcast/file_bcast.c"
#else
#include "src/common/file_bcast.h"
#define SLURM_FILE_BCAST_C "src/common/file_bcast.c"
#endif

/* How many nodes get the file at once; 0: not chosen. */
static inline int file_bcast_width(const struct bcast_parameters *params)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 0)
	return params->fanout;
#else
	return params->tree_width;
#endif
}

static inline uint32_t file_bcast_job(const job_sbcast_cred_msg_t *msg)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 11, 0)
	return msg->job_id;
#else
	return msg->step_id.job_id;
#endif
}

#endif
