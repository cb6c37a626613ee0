/*
 * launch_storm.c - launch/storm: srun's launch plugin of Slurm 22.05.  It is
 * Slurm's own launch plugin with another fan-out (launch_step.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <string.h>

#include "src/common/slurm_xlator.h"

#include "src/common/bitstring.h"
#include "src/common/log.h"
#include "src/common/proc_args.h"
#include "src/common/read_config.h"
#include "src/common/slurm_opt.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/srun/libsrun/launch.h"

#include "launch_failed.h"
#include "launch_module.h"
#include "launch_standard.h"
#include "src/libstorm/base/clock.h"
#include "src/storm_common/slurm_build.h"
#include "stock_launch.h"

/* Everything else is built with hidden visibility. */
#define EXPORT extern __attribute__((visibility("default")))

EXPORT const char plugin_name[], plugin_type[];
EXPORT const uint32_t plugin_version;
const char plugin_name[] = "launch STORM plugin";
const char plugin_type[] = "launch/storm";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

EXPORT int init(void);
EXPORT int fini(void);
EXPORT int launch_p_setup_srun_opt(char **rest, slurm_opt_t *opt_local);
EXPORT int launch_p_handle_multi_prog_verify(int command_pos,
					     slurm_opt_t *opt_local);
EXPORT int launch_p_create_job_step(srun_job_t *job, bool use_all_cpus,
				    void (*signal_function)(int),
				    sig_atomic_t *destroy_job,
				    slurm_opt_t *opt_local);
EXPORT int launch_p_step_launch(srun_job_t *job, slurm_step_io_fds_t *cio_fds,
				uint32_t *global_rc,
				slurm_step_launch_callbacks_t *step_callbacks,
				slurm_opt_t *opt_local);
EXPORT int launch_p_step_wait(srun_job_t *job, bool got_alloc,
			      slurm_opt_t *opt_local);
EXPORT int launch_p_step_terminate(void);
EXPORT void launch_p_print_status(void);
EXPORT void launch_p_fwd_signal(int signal);

/* Set when STORM was built for another Slurm: it gets every call. */
static const struct launch_standard *standard;

int init(void)
{
	verbose("%s loaded", plugin_name);
	if (!slurm_build_refusal())
		return SLURM_SUCCESS;
	error("storm: %s; " LAUNCH_OTHERWISE, slurm_build_refusal());
	standard = launch_standard_load();
	return standard ? SLURM_SUCCESS : SLURM_ERROR;
}

/* A standard plugin stays loaded until srun ends. */
int fini(void)
{
	launch_module_end();
	return standard ? SLURM_SUCCESS : stock_fini();
}

int launch_p_setup_srun_opt(char **rest, slurm_opt_t *opt_local)
{
	if (standard) {
		launch_standard_rename();
		return standard->setup_srun_opt(rest, opt_local);
	}
	/* srun makes the process table that debuggers and the launcher's own
	 * callbacks need only for a launch type with "slurm" in its name. */
	xfree(slurm_conf.launch_type);
	slurm_conf.launch_type = xstrdup("launch/slurm");
	return stock_setup_srun_opt(rest, opt_local);
}

int launch_p_handle_multi_prog_verify(int command_pos, slurm_opt_t *opt_local)
{
	if (standard)
		return standard->multi_prog_verify(command_pos, opt_local);
	return stock_handle_multi_prog_verify(command_pos, opt_local);
}

int launch_p_create_job_step(srun_job_t *job, bool use_all_cpus,
			     void (*signal_function)(int),
			     sig_atomic_t *destroy_job, slurm_opt_t *opt_local)
{
	srun_opt_t *srun_opt;
	uint64_t start;
	struct storm_session *s;
	int rc;

	if (standard)
		return standard->create_job_step(job, use_all_cpus,
						 signal_function, destroy_job,
						 opt_local);
	srun_opt = opt_local->srun_opt;
	launch_failed_begin(job);
	do {
		s = NULL;
		start = storm_now();
		if (launch_module_needed(job, opt_local))
			launch_module_load();
		rc = stock_create_job_step(job, use_all_cpus, signal_function,
					   destroy_job, opt_local);
		launch_module_end(); /* srun may fork or exit now */
		/* Without an allocation no credential is valid. */
		if (!rc && !srun_opt->no_alloc)
			s = launch_module_begin(job, opt_local, start, NULL);
	} while (launch_failed_again(s, job, opt_local, &rc));
	if (rc || !s)
		return rc;
	/* Keep srun from sending the file itself.  Cleared only now, because
	 * the flag makes srun look for the program's full path. */
	s->bcast = srun_opt->bcast_flag && !s->fallback;
	if (s->bcast)
		srun_opt->bcast_flag = false;
	else if (!s->domain)
		launch_module_get()->open(s, job, opt_local);
	return rc;
}

/* The program's destination, from --bcast, BcastParameters or --chdir
 * (xfree). */
static char *launch_bcast_target(const slurm_opt_t *opt_local)
{
	const char *file = opt_local->srun_opt->bcast_file, *dir;
	int len;

	if (file && file[0] == '/')
		return xstrdup(file);
	if ((dir = xstrcasestr(slurm_conf.bcast_parameters, "DestDir="))) {
		dir += strlen("DestDir=");
		len = strcspn(dir, ",");
	} else {
		dir = opt_local->chdir;
		len = strlen(dir);
	}
	return xstrdup_printf("%.*s/", len, dir);
}

/* What srun itself does for --bcast.  Exits on failure, as srun does. */
static void launch_bcast(struct storm_session *s, srun_job_t *job,
			 slurm_opt_t *opt_local)
{
	srun_opt_t *srun_opt = opt_local->srun_opt;
	slurm_selected_step_t step = {
		.array_task_id = NO_VAL,
		.het_job_offset = srun_opt->het_grp_bits ?
					  bit_ffs(srun_opt->het_grp_bits) :
					  NO_VAL,
		.step_id = job->step_id,
	};
	struct bcast_parameters params = {
		.block_size = 8 * 1024 * 1024,
		.exclude = srun_opt->bcast_exclude,
		.compress = srun_opt->compress,
		.flags = BCAST_FLAG_FORCE | BCAST_FLAG_PRESERVE,
		.selected_step = &step,
	};

	if (!srun_opt->argc || !srun_opt->argv[0])
		fatal("No command name to broadcast");
	params.src_fname = xstrdup(srun_opt->argv[0]);
	params.dst_fname = launch_bcast_target(opt_local);
	if (srun_opt->send_libs)
		params.flags |= BCAST_FLAG_SEND_LIBS;
	if (launch_module_get()->bcast(s, &params))
		fatal("Failed to broadcast '%s'. Step launch aborted.",
		      params.src_fname);
	xfree(srun_opt->argv[0]);
	srun_opt->argv[0] = params.dst_fname;
	xfree(params.src_fname);
}

int launch_p_step_launch(srun_job_t *job, slurm_step_io_fds_t *cio_fds,
			 uint32_t *global_rc,
			 slurm_step_launch_callbacks_t *step_callbacks,
			 slurm_opt_t *opt_local)
{
	const struct launch_module *storm;
	struct storm_session *s;

	if (standard)
		return standard->step_launch(job, cio_fds, global_rc,
					     step_callbacks, opt_local);
	if ((storm = launch_module_used())) {
		s = storm->find(&job->step_ctx->step_req->step_id);
		if (s && s->bcast)
			launch_bcast(s, job, opt_local);
		storm->stdio(s, job, cio_fds, opt_local);
	}
	return stock_step_launch(job, cio_fds, global_rc, step_callbacks,
				 opt_local);
}

int launch_p_step_wait(srun_job_t *job, bool got_alloc, slurm_opt_t *opt_local)
{
	if (standard)
		return standard->step_wait(job, got_alloc, opt_local);
	return stock_step_wait(job, got_alloc, opt_local);
}

int launch_p_step_terminate(void)
{
	if (standard)
		return standard->step_terminate();
	return stock_step_terminate();
}

void launch_p_print_status(void)
{
	if (standard) {
		standard->print_status();
		return;
	}
	if (launch_module_used())
		launch_module_used()->before_status();
	stock_print_status();
}

void launch_p_fwd_signal(int signal)
{
	if (standard) {
		standard->fwd_signal(signal);
		return;
	}
	if (launch_module_used())
		launch_module_used()->before_signal(signal);
	stock_fwd_signal(signal);
}
