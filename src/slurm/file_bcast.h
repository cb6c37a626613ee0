/*
 * file_bcast.h - Slurm's broadcast of files.  It is in srun and sbcast
 * themselves until 25.11, and in libslurmfull since.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_FILE_BCAST_H
#define STORM_SLURM_FILE_BCAST_H

#include "slurm/slurm.h"
#include "src/slurm/cred.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 5, 0)
#include "src/bcast/file_bcast.h"
#define SLURM_FILE_BCAST_C "src/bcast/file_bcast.c"
#else
#include "src/common/file_bcast.h"
#include "src/interfaces/compress.h"
#define SLURM_FILE_BCAST_C "src/common/file_bcast.c"
/* A plugin fills a block. */
#define SLURM_FILE_BCAST_BY_PLUGIN
#endif

/* How many nodes get the file at once; 0: not chosen. */
static inline int file_bcast_width(const struct bcast_parameters *p)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 0)
	return p->fanout;
#else
	return p->tree_width;
#endif
}

/* Is the broadcast for nodes alone, and for no job? */
static inline bool file_bcast_without_job(const struct bcast_parameters *p)
{
#ifdef BCAST_FLAG_NO_JOB
	return p->flags & BCAST_FLAG_NO_JOB;
#else
	return false;
#endif
}

static inline uint32_t file_bcast_job(const job_sbcast_cred_msg_t *msg)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 11, 0)
	return msg->job_id;
#else
	const sbcast_cred_t *cred = msg->sbcast_cred;

	return cred->arg.step_id.job_id;
#endif
}

#endif
