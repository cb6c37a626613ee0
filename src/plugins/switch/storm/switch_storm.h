/*
 * switch_storm.h - the symbols that Slurm's loader looks up in the plugin.
 * Slurm's switch.c has the table and the contracts; 22.05 has no header for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SWITCH_STORM_H
#define STORM_SWITCH_STORM_H

#include "src/common/pack.h"
#include "src/slurm/switch.h"
#include "src/slurmd/slurmstepd/slurmstepd_job.h"

#pragma GCC visibility push(default)
extern const char plugin_name[], plugin_type[];
extern const uint32_t plugin_version, plugin_id;
int init(void);
int fini(void);
int switch_p_reconfig(void);
int switch_p_libstate_save(char *dir_name);
int switch_p_libstate_restore(char *dir_name, bool recover);
int switch_p_libstate_clear(void);
int switch_p_alloc_jobinfo(switch_jobinfo_t **out, uint32_t job_id,
			   uint32_t step_id);
int switch_p_build_jobinfo(switch_jobinfo_t *j, slurm_step_layout_t *layout,
			   step_record_t *step);
int switch_p_duplicate_jobinfo(switch_jobinfo_t *from, switch_jobinfo_t **out);
void switch_p_free_jobinfo(switch_jobinfo_t *j);
int switch_p_pack_jobinfo(switch_jobinfo_t *j, buf_t *buffer,
			  uint16_t protocol_version);
int switch_p_unpack_jobinfo(switch_jobinfo_t **out, buf_t *buffer,
			    uint16_t protocol_version);
int switch_p_get_jobinfo(switch_jobinfo_t *j, int key, void *data);
int switch_p_job_preinit(stepd_step_rec_t *job);
int switch_p_job_init(stepd_step_rec_t *job);
int switch_p_job_attach(switch_jobinfo_t *j, char ***env, uint32_t nodeid,
			uint32_t procid, uint32_t nnodes, uint32_t nprocs,
			uint32_t rank);
int switch_p_job_fini(switch_jobinfo_t *j);
int switch_p_job_postfini(stepd_step_rec_t *job);
int switch_p_job_step_pre_suspend(stepd_step_rec_t *job);
int switch_p_job_step_post_suspend(stepd_step_rec_t *job);
int switch_p_job_step_pre_resume(stepd_step_rec_t *job);
int switch_p_job_step_post_resume(stepd_step_rec_t *job);
int switch_p_job_suspend_test(switch_jobinfo_t *j);
void switch_p_job_suspend_info_get(switch_jobinfo_t *j, void **suspend_info);
void switch_p_job_suspend_info_pack(void *suspend_info, buf_t *buffer,
				    uint16_t protocol_version);
int switch_p_job_suspend_info_unpack(void **suspend_info, buf_t *buffer,
				     uint16_t protocol_version);
void switch_p_job_suspend_info_free(void *suspend_info);
int switch_p_job_suspend(void *suspend_info, int max_wait);
int switch_p_job_resume(void *suspend_info, int max_wait);
int switch_p_job_step_complete(switch_jobinfo_t *j, char *nodelist);
int switch_p_job_step_allocated(switch_jobinfo_t *j, char *nodelist);
void switch_p_job_complete(uint32_t job_id);
#pragma GCC visibility pop

#endif
