/*
 * switch_ops_24_11.c - the operations of switch plugins in Slurm 24.11.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdint.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/pack.h"
#include "src/slurmctld/slurmctld.h"
#include "src/slurmd/slurmstepd/slurmstepd_job.h"

#include "stepinfo.h"
#include "switch_modern.h"
#include "switch_ops_24_11.h"

int switch_p_build_stepinfo(struct stepinfo **out, slurm_step_layout_t *layout,
			    step_record_t *step)
{
	(void) layout;
	*out = switch_modern_build(step);
	return SLURM_SUCCESS;
}

void switch_p_duplicate_stepinfo(struct stepinfo *from, struct stepinfo **out)
{
	*out = stepinfo_copy(from);
}

void switch_p_free_stepinfo(struct stepinfo *s)
{
	stepinfo_free(s);
}

void switch_p_pack_stepinfo(struct stepinfo *s, buf_t *buffer,
			    uint16_t protocol_version)
{
	(void) protocol_version;
	stepinfo_pack(s, buffer);
}

int switch_p_unpack_stepinfo(struct stepinfo **out, buf_t *buffer,
			     uint16_t protocol_version)
{
	(void) protocol_version;
	*out = switch_modern_unpack(buffer);
	return *out ? SLURM_SUCCESS : SLURM_ERROR;
}

/* ------------------------------------------- a job has nothing of the switch --- */

void switch_p_pack_jobinfo(void *jobinfo, buf_t *buffer,
			   uint16_t protocol_version)
{
	(void) jobinfo;
	(void) buffer;
	(void) protocol_version;
}

int switch_p_unpack_jobinfo(void **jobinfo, buf_t *buffer,
			    uint16_t protocol_version)
{
	(void) jobinfo;
	(void) buffer;
	(void) protocol_version;
	return SLURM_SUCCESS;
}

void switch_p_job_start(job_record_t *job)
{
	(void) job;
}

int switch_p_fs_init(stepd_step_rec_t *step)
{
	(void) step;
	return SLURM_SUCCESS;
}

void switch_p_extern_stepinfo(struct stepinfo **out, job_record_t *job)
{
	(void) out;
	(void) job;
}

void switch_p_extern_step_fini(uint32_t job_id)
{
	(void) job_id;
}
