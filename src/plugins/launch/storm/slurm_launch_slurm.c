/*
 * slurm_launch_slurm.c - Slurm's own launch/slurm plugin, compiled unmodified
 * from the tree that configure was given, under other names.  launch_storm.c
 * adapts it, and it launches through stock_launch.c.  So users see the messages
 * of stock srun.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#define _GNU_SOURCE
/* Set as for the original: messages begin with the function's name. */
#define SLURM_PLUGIN_DEBUG
#include <unistd.h>

#include "src/common/slurm_xlator.h"

#include "src/api/pmi_server.h"
#include "src/common/slurm_opt.h"
#include "src/common/slurm_resource_info.h"
#include "src/srun/libsrun/allocate.h"
#include "src/srun/libsrun/fname.h"
#include "src/srun/libsrun/launch.h"
#include "src/srun/libsrun/multi_prog.h"

#include "stock_launch.h"

#define plugin_name stock_plugin_name
#define plugin_type stock_plugin_type
#define plugin_version stock_plugin_version

/* Renamed for the linker only: messages to users contain __func__. */
int init(void) __asm__("stock_init");
int fini(void) __asm__("stock_fini");
int launch_p_setup_srun_opt(char **rest, slurm_opt_t *opt_local) __asm__(
	"stock_setup_srun_opt");
int launch_p_handle_multi_prog_verify(
	int command_pos,
	slurm_opt_t *opt_local) __asm__("stock_handle_multi_prog_verify");
int launch_p_create_job_step(
	srun_job_t *job, bool use_all_cpus, void (*signal_function)(int),
	sig_atomic_t *destroy_job,
	slurm_opt_t *opt_local) __asm__("stock_create_job_step");
int launch_p_step_launch(srun_job_t *job, slurm_step_io_fds_t *cio_fds,
			 uint32_t *global_rc,
			 slurm_step_launch_callbacks_t *step_callbacks,
			 slurm_opt_t *opt_local) __asm__("stock_step_launch");
int launch_p_step_wait(srun_job_t *job, bool got_alloc,
		       slurm_opt_t *opt_local) __asm__("stock_step_wait");
int launch_p_step_terminate(void) __asm__("stock_step_terminate");
void launch_p_print_status(void) __asm__("stock_print_status");
void launch_p_fwd_signal(int signal) __asm__("stock_fwd_signal");

/* It names the programs for a debugger.  A file that --bcast has sent may be on the
 * nodes only. */
static int stock_set_multi_name(int ntasks, const char *file)
{
	return access(file, R_OK) ? 0 : mpir_set_multi_name(ntasks, file);
}

#define mpir_set_multi_name stock_set_multi_name
#define slurm_step_launch stock_calls_launch
#define slurm_step_launch_add stock_calls_launch_add
#define slurm_step_launch_wait_start stock_calls_wait_start
#define slurm_step_launch_wait_finish stock_calls_wait_finish
#define slurm_step_launch_abort stock_calls_abort
#define slurm_step_launch_fwd_signal stock_calls_fwd_signal

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "src/plugins/launch/slurm/launch_slurm.c"
#include "src/plugins/launch/slurm/task_state.c"
#pragma GCC diagnostic pop
