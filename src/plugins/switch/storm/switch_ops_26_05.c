/*
 * switch_ops_26_05.c - the operations of switch plugins in Slurm 26.05, and in
 * 25.11, which looks for one more.
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
#include "switch_ops_26_05.h"

int switch_p_stepinfo_build(struct stepinfo **out, void *jobinfo,
			    step_record_t *step)
{
	(void) jobinfo;
	*out = switch_modern_build(step);
	return SLURM_SUCCESS;
}

void switch_p_stepinfo_duplicate(struct stepinfo *from, struct stepinfo **out)
{
	*out = stepinfo_copy(from);
}

void switch_p_stepinfo_free(struct stepinfo *s)
{
	stepinfo_free(s);
}

void switch_p_stepinfo_pack(struct stepinfo *s, buf_t *buffer,
			    uint16_t protocol_version)
{
	(void) protocol_version;
	stepinfo_pack(s, buffer);
}

int switch_p_stepinfo_unpack(struct stepinfo **out, buf_t *buffer,
			     uint16_t protocol_version)
{
	(void) protocol_version;
	*out = switch_modern_unpack(buffer);
	return *out ? SLURM_SUCCESS : SLURM_ERROR;
}

/* ------------------------------------------- a job has nothing of the switch --- */

void switch_p_jobinfo_pack(void *jobinfo, buf_t *buffer,
			   uint16_t protocol_version)
{
	(void) jobinfo;
	(void) buffer;
	(void) protocol_version;
}

int switch_p_jobinfo_unpack(void **jobinfo, buf_t *buffer,
			    uint16_t protocol_version)
{
	(void) jobinfo;
	(void) buffer;
	(void) protocol_version;
	return SLURM_SUCCESS;
}

void switch_p_jobinfo_free(job_record_t *job)
{
	(void) job;
}

int switch_p_job_start(job_record_t *job, bool test_only)
{
	(void) job;
	(void) test_only;
	return SLURM_SUCCESS;
}

/* The extern and the batch step need no context. */
bool switch_p_setup_special_steps(void)
{
	return false;
}

uint32_t switch_p_job_channel(job_record_t *job, char *node_name)
{
	(void) job;
	(void) node_name;
	return NO_VAL;
}

int switch_p_fs_init(stepd_step_rec_t *step)
{
	(void) step;
	return SLURM_SUCCESS;
}

/* 25.11 */
void switch_p_extern_step_fini(uint32_t job_id)
{
	(void) job_id;
}

/* 26.05 */
void switch_p_stepmgr_init(void)
{
}

void switch_p_stepmgr_fini(uint32_t job_id)
{
	(void) job_id;
}
