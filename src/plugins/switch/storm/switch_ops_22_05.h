/*
 * switch_ops_22_05.h - the symbols that the loader of Slurm 22.05 looks up,
 * beside those of switch_storm.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SWITCH_OPS_22_05_H
#define STORM_SWITCH_OPS_22_05_H

#include <stdbool.h>
#include <stdint.h>

#include "src/common/pack.h"
#include "src/slurmctld/slurmctld.h"
#include "src/slurmd/slurmstepd/slurmstepd_job.h"

#include "stepinfo.h"

#pragma GCC visibility push(default)
int init(void);
int fini(void);
int switch_p_reconfig(void);
int switch_p_libstate_save(char *dir_name);
int switch_p_libstate_restore(char *dir_name, bool recover);
int switch_p_libstate_clear(void);
int switch_p_alloc_jobinfo(struct stepinfo **out, uint32_t job_id,
			   uint32_t step_id);
int switch_p_build_jobinfo(struct stepinfo *s, slurm_step_layout_t *layout,
			   step_record_t *step);
int switch_p_duplicate_jobinfo(struct stepinfo *from, struct stepinfo **out);
void switch_p_free_jobinfo(struct stepinfo *s);
int switch_p_pack_jobinfo(struct stepinfo *s, buf_t *buffer,
			  uint16_t protocol_version);
int switch_p_unpack_jobinfo(struct stepinfo **out, buf_t *buffer,
			    uint16_t protocol_version);
int switch_p_get_jobinfo(struct stepinfo *s, int key, void *data);
int switch_p_job_fini(struct stepinfo *s);
int switch_p_job_step_allocated(struct stepinfo *s, char *nodelist);
void switch_p_job_complete(uint32_t job_id);
int switch_p_job_step_pre_suspend(stepd_step_rec_t *job);
int switch_p_job_step_post_suspend(stepd_step_rec_t *job);
int switch_p_job_step_pre_resume(stepd_step_rec_t *job);
int switch_p_job_step_post_resume(stepd_step_rec_t *job);
int switch_p_job_suspend_test(struct stepinfo *s);
void switch_p_job_suspend_info_get(struct stepinfo *s, void **suspend_info);
void switch_p_job_suspend_info_pack(void *suspend_info, buf_t *buffer,
				    uint16_t protocol_version);
int switch_p_job_suspend_info_unpack(void **suspend_info, buf_t *buffer,
				     uint16_t protocol_version);
void switch_p_job_suspend_info_free(void *suspend_info);
int switch_p_job_suspend(void *suspend_info, int max_wait);
int switch_p_job_resume(void *suspend_info, int max_wait);
#pragma GCC visibility pop

#endif
