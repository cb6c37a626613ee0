/*
 * switch_ops_26_05.h - the symbols that the loader of Slurm 26.05 looks up,
 * beside those of switch_storm.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SWITCH_OPS_26_05_H
#define STORM_SWITCH_OPS_26_05_H

#include <stdbool.h>
#include <stdint.h>

#include "src/common/pack.h"
#include "src/slurmctld/slurmctld.h"
#include "src/slurmd/slurmstepd/slurmstepd_job.h"

#include "stepinfo.h"

#pragma GCC visibility push(default)
int switch_p_stepinfo_build(struct stepinfo **out, void *jobinfo,
			    step_record_t *step);
void switch_p_stepinfo_duplicate(struct stepinfo *from, struct stepinfo **out);
void switch_p_stepinfo_free(struct stepinfo *s);
void switch_p_stepinfo_pack(struct stepinfo *s, buf_t *buffer,
			    uint16_t protocol_version);
int switch_p_stepinfo_unpack(struct stepinfo **out, buf_t *buffer,
			     uint16_t protocol_version);
void switch_p_jobinfo_pack(void *jobinfo, buf_t *buffer,
			   uint16_t protocol_version);
int switch_p_jobinfo_unpack(void **jobinfo, buf_t *buffer,
			    uint16_t protocol_version);
void switch_p_jobinfo_free(job_record_t *job);
int switch_p_job_start(job_record_t *job, bool test_only);
bool switch_p_setup_special_steps(void);
uint32_t switch_p_job_channel(job_record_t *job, char *node_name);
int switch_p_fs_init(stepd_step_rec_t *step);
void switch_p_extern_step_fini(uint32_t job_id);
void switch_p_stepmgr_init(void);
void switch_p_stepmgr_fini(uint32_t job_id);
#pragma GCC visibility pop

#endif
