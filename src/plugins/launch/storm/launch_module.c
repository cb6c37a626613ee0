/*
 * launch_module.c - load STORM's launch when a step needs it: launch_module.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/log.h"
#include "src/common/slurm_opt.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"

#include "launch_module.h"
#include "src/libstorm/base/thread.h"
#include "src/storm_common/launch_few.h"

static struct {
	pthread_t thread;
	bool loading; /* the thread runs */
	bool tried;
	const struct launch_module *loaded; /* NULL: not yet, or it failed */
	const char *why;		    /* it failed */
	bool used;
} module;

/* Why Slurm launches a step on these nodes, and sends its file, as STORM's launch would
 * find (xfree), and what a node is to hear.  NULL: that is to be seen there. */
static char *launch_module_spared(const char *nodelist,
				  const slurm_opt_t *opt_local,
				  struct fallback_told *told)
{
	const struct storm_conf *conf = launch_few_conf();

	if (!nodelist || !conf || conf->fallback == FALLBACK_NEVER ||
	    conf->failed_launch != FAILED_LAUNCH_FALLBACK ||
	    opt_local->srun_opt->pty || launch_few_is_timed())
		return NULL;
	return step_domain_goes_round(nodelist, conf, told);
}

bool launch_module_needed(const srun_job_t *job, const slurm_opt_t *opt_local)
{
	struct fallback_told told;
	bool needed;
	char *why;

	if (opt_local->srun_opt->bcast_flag || launch_few_is_timed())
		return true;
	if (job->nhosts < launch_few_least() || launch_few_surely(opt_local))
		return false;
	/* the step may have fewer nodes; then it is loaded later */
	why = launch_module_spared(job->nodelist, opt_local, &told);
	needed = !why;
	xfree(why);
	return needed;
}

/* It stays loaded: OpenSSL's memory is freed when the process ends. */
static void *launch_module_thread(void *arg)
{
	void *handle = dlopen(STORM_LAUNCH_MODULE, RTLD_NOW | RTLD_LOCAL);
	const struct launch_module *m =
		handle ? dlsym(handle, "storm_launch_module") : NULL;

	if (m && strcmp(m->version, PACKAGE_VERSION)) {
		module.why = "it is of another version of STORM";
	} else if (m) {
		module.loaded = m;
		m->prepare();
	} else {
		module.why = dlerror();
	}
	return arg;
}

void launch_module_load(void)
{
	if (module.tried)
		return;
	module.tried = true;
	module.loading =
		!storm_thread_start(&module.thread, launch_module_thread, NULL);
	if (!module.loading)
		launch_module_thread(NULL);
}

void launch_module_end(void)
{
	if (module.loading)
		pthread_join(module.thread, NULL);
	module.loading = false;
}

const struct launch_module *launch_module_get(void)
{
	launch_module_load();
	launch_module_end();
	if (module.why)
		info("warning: storm: cannot load " STORM_LAUNCH_MODULE
		     " (%s): install STORM again; " LAUNCH_OTHERWISE,
		     module.why);
	module.why = NULL;
	return module.loaded;
}

const struct launch_module *launch_module_used(void)
{
	return module.used ? module.loaded : NULL;
}

/* This process's environment becomes the step's.  The components of a heterogeneous step
 * share it, so none of them tells. */
static void launch_module_tell(const srun_job_t *job,
			       const struct fallback_told *told)
{
	char value[FALLBACK_TEXT + 32];

	if (job->step_ctx->step_req->step_id.step_het_comp != NO_VAL)
		return;
	fallback_write(told, value, sizeof(value));
	setenv(FALLBACK_ENV, value, 1);
}

struct storm_session *launch_module_begin(const srun_job_t *job,
					  const slurm_opt_t *opt_local,
					  uint64_t start,
					  const char *not_served)
{
	const slurm_step_layout_t *layout =
		job->step_ctx->step_resp->step_layout;
	bool few = layout && layout->node_cnt < launch_few_least() &&
		   !opt_local->srun_opt->bcast_flag;
	char *why;
	struct fallback_told told;

	if (few)
		launch_few_say("", layout->node_cnt);
	if (!few && layout && !not_served &&
	    (why = launch_module_spared(layout->node_list, opt_local, &told))) {
		launch_module_tell(job, &told);
		storm_warn_once(why, LAUNCH_OTHERWISE);
		xfree(why);
		return NULL;
	}
	if ((few && !launch_few_is_timed()) || !launch_module_get())
		return NULL;
	module.used = true;
	return module.loaded->begin(job, start, few ? NULL : not_served, few);
}
