/*
 * switch_ops_24_11.h - the symbols that the loader of Slurm 24.11 looks up,
 * beside those of switch_storm.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SWITCH_OPS_24_11_H
#define STORM_SWITCH_OPS_24_11_H

#include <stdbool.h>
#include <stdint.h>

#include "src/common/pack.h"
#include "src/slurmctld/slurmctld.h"
#include "src/slurmd/slurmstepd/slurmstepd_job.h"

#include "stepinfo.h"

#pragma GCC visibility push(default)
int switch_p_build_stepinfo(struct stepinfo **out, slurm_step_layout_t *layout,
			    step_record_t *step);
void switch_p_duplicate_stepinfo(struct stepinfo *from, struct stepinfo **out);
void switch_p_free_stepinfo(struct stepinfo *s);
void switch_p_pack_stepinfo(struct stepinfo *s, buf_t *buffer,
			    uint16_t protocol_version);
int switch_p_unpack_stepinfo(struct stepinfo **out, buf_t *buffer,
			     uint16_t protocol_version);
void switch_p_pack_jobinfo(void *jobinfo, buf_t *buffer,
			   uint16_t protocol_version);
int switch_p_unpack_jobinfo(void **jobinfo, buf_t *buffer,
			    uint16_t protocol_version);
void switch_p_job_start(job_record_t *job);
int switch_p_fs_init(stepd_step_rec_t *step);
void switch_p_extern_stepinfo(struct stepinfo **out, job_record_t *job);
void switch_p_extern_step_fini(uint32_t job_id);
#pragma GCC visibility pop

#endif
