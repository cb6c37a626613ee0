/*
 * launch_module.h - libexec/slurm-storm/launch_module.so: STORM's launch, with
 * libstorm and OpenSSL inside.  srun loads it when it needs it.
 *
 * Slurm launches a step without a file on few nodes (LaunchNodes), because it
 * has less to do for it, and one with a node that could not be reached shortly
 * before (known_paths.h).  For these srun loads nothing.  For any other step a
 * thread loads the module while slurmctld creates the step.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCH_MODULE_H
#define STORM_LAUNCH_MODULE_H

#include <stdbool.h>

#include "launch_step.h"
#include "step_launch.h"

/* The functions of launch_step.h, session.h, step_launch.h and bcast.h, whose
 * comments hold here. */
struct launch_module {
	const char *version; /* PACKAGE_VERSION, which must be ours */
	void (*prepare)(void);
	char *(*not_served)(const char *what);
	struct storm_session *(*begin)(const srun_job_t *job, uint64_t start,
				       const char *not_served, bool few);
	struct storm_session *(*find)(const slurm_step_id_t *step_id);
	void (*open)(struct storm_session *s, const srun_job_t *job,
		     const slurm_opt_t *opt_local);
	bool (*check)(struct storm_session *s, const srun_job_t *job,
		      const slurm_opt_t *opt_local);
	void (*close)(struct storm_session *s);
	int (*bcast)(struct storm_session *s, struct bcast_parameters *params);
	int (*stock_bcast)(struct bcast_parameters *params);
	void (*stdio)(struct storm_session *s, const srun_job_t *job,
		      slurm_step_io_fds_t *cio_fds,
		      const slurm_opt_t *opt_local);
	void (*before_status)(void);
	void (*before_signal)(int signal);
	int (*launch)(slurm_step_ctx_t *ctx,
		      const slurm_step_launch_params_t *params,
		      const slurm_step_launch_callbacks_t *callbacks);
	int (*launch_add)(slurm_step_ctx_t *ctx, slurm_step_ctx_t *first,
			  const slurm_step_launch_params_t *params,
			  char *node_list);
	int (*wait_start)(slurm_step_ctx_t *ctx);
	void (*wait_finish)(slurm_step_ctx_t *ctx);
	void (*abort)(slurm_step_ctx_t *ctx);
	void (*fwd_signal)(slurm_step_ctx_t *ctx, int signo);
};

/* What launch_module.so exports. */
extern const struct launch_module storm_launch_module;

/* May the step need the module: has it LaunchNodes nodes, or a file?  Called
 * before it is created. */
bool launch_module_needed(const srun_job_t *job, const slurm_opt_t *opt_local);
/* Begin to load the module, in a thread.  srun's own thread calls all of
 * these. */
void launch_module_load(void);
/* Wait until the module is loaded, and return it.  NULL: it cannot be loaded,
 * which was logged, and Slurm launches all steps. */
const struct launch_module *launch_module_get(void);
/* The module, if a step of this srun began with launch_module_begin(); else
 * NULL. */
const struct launch_module *launch_module_used(void);
/* Call the module's launch_step_begin() for a step that was created.  NULL:
 * Slurm launches the step, and it has no timeline. */
struct storm_session *launch_module_begin(const srun_job_t *job,
					  const slurm_opt_t *opt_local,
					  uint64_t start,
					  const char *not_served);
/* Wait for the thread: before srun forks, ends, or unloads the plugin. */
void launch_module_end(void);

#endif
