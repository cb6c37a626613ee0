/*
 * slurm_launch_slurm.c - Slurm's own launch/slurm plugin, compiled unmodified
 * from the tree that configure was given, under other names: launch_storm.c
 * adapts it, and it launches through slurm_step_launch.c.  All that a user
 * sees of a step comes from it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#define _GNU_SOURCE
/* As the original is built: its messages begin with its name. */
#define SLURM_PLUGIN_DEBUG
#include "src/common/slurm_xlator.h"
#include "src/common/slurm_opt.h"
#include "src/common/slurm_resource_info.h"
#include "src/api/pmi_server.h"
#include "src/srun/libsrun/allocate.h"
#include "src/srun/libsrun/fname.h"
#include "src/srun/libsrun/launch.h"
#include "src/srun/libsrun/multi_prog.h"

#include "session.h"
#include "stock_launch.h"

#define plugin_name stock_plugin_name
#define plugin_type stock_plugin_type
#define plugin_version stock_plugin_version
#define init stock_init
#define fini stock_fini
#define launch_p_setup_srun_opt stock_setup_srun_opt
#define launch_p_handle_multi_prog_verify stock_handle_multi_prog_verify
#define launch_p_create_job_step stock_create_job_step
#define launch_p_step_launch stock_step_launch
#define launch_p_step_wait stock_step_wait
#define launch_p_step_terminate stock_step_terminate
#define launch_p_print_status stock_print_status
#define launch_p_fwd_signal stock_fwd_signal

#define slurm_step_launch storm_step_launch
#define slurm_step_launch_add storm_step_launch_add
#define slurm_step_launch_wait_start storm_step_launch_wait_start
#define slurm_step_launch_wait_finish storm_step_launch_wait_finish
#define slurm_step_launch_abort storm_step_launch_abort
#define slurm_step_launch_fwd_signal storm_step_launch_fwd_signal
#define slurm_step_launch_params_t_init storm_step_launch_params_init

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "src/plugins/launch/slurm/launch_slurm.c"
#include "src/plugins/launch/slurm/task_state.c"
#pragma GCC diagnostic pop
