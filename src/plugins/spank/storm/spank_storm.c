/*
 * spank_storm.c - the options --launch=storm|slurm, --storm-wait=MODE
 * (spank_wait.h), --storm-turns=yield (spank_turns.h) and --resident of srun
 * (resident_srun.h), sbatch and salloc (spank_resident.h); in slurmstepd, the hooks of
 * gang scheduling (step_gang.h); in slurmd, the agent's home (spank_slurmd.h).
 *
 * The user's launcher of the paper (section 2.1) is chosen for each command
 * (spank_launch.h).  sbatch and salloc launch no steps.  They pass the choice to
 * the sruns inside in the environment.  The variable's name begins with SLURM,
 * because "sbatch --export=NONE" drops all others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "slurm/spank.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmd/slurmd/slurmd.h"
#include "src/slurmd/slurmstepd/slurmstepd_job.h"
#include "src/stepd/step_gang.h"
#include "src/storm_common/slurm_build.h"

#include "resident_srun.h"
#include "spank_fallback.h"
#include "spank_launch.h"
#include "spank_resident.h"
#include "spank_slurmd.h"
#include "spank_turns.h"
#include "spank_wait.h"

/* slurmstepd's; this plugin is also loaded by programs without it. */
#pragma weak conf

#define LAUNCH_ENV "SLURM_STORM_LAUNCH"

/* Not SPANK_PLUGIN(): its symbols would be hidden, as all of the plugin's
 * objects are built with hidden visibility. */
__attribute__((visibility("default"))) extern const char plugin_name[],
	plugin_type[];
__attribute__((visibility("default"))) extern const unsigned int plugin_version,
	spank_plugin_version;
const char plugin_name[] = "storm";
const char plugin_type[] = "spank";
const unsigned int plugin_version = SLURM_VERSION_NUMBER;
const unsigned int spank_plugin_version = 1;

#pragma GCC visibility push(default)
int slurm_spank_init(spank_t sp, int ac, char **av);
int slurm_spank_init_post_opt(spank_t sp, int ac, char **av);
int slurm_spank_local_user_init(spank_t sp, int ac, char **av);
int slurm_spank_task_init_privileged(spank_t sp, int ac, char **av);
int slurm_spank_task_init(spank_t sp, int ac, char **av);
int slurm_spank_task_post_fork(spank_t sp, int ac, char **av);
int slurm_spank_exit(spank_t sp, int ac, char **av);
int slurm_spank_slurmd_exit(spank_t sp, int ac, char **av);
#pragma GCC visibility pop

static bool spank_knows_type(const char *type)
{
	return !xstrcmp(type, "storm") || !xstrcmp(type, "slurm");
}

/* STORM was built for another Slurm: srun keeps its own launch type.  Says so
 * once, if a user asks for storm. */
static bool spank_refuses(const char *type)
{
	static bool said;

	if (!slurm_build_refusal())
		return false;
	if (!said && !strcmp(type, "storm")) {
		slurm_error(
			"storm: %s; falling back to Slurm's standard launch",
			slurm_build_refusal());
		said = true;
	}
	return true;
}

static void spank_choose_type(const char *type, bool by_env)
{
	resident_srun_launch(!strcmp(type, "slurm"), by_env);
	if (spank_refuses(type))
		return;
	spank_launch_by(type);
}

static int spank_opt_launch(int val, const char *type, int remote)
{
	/* SPANK also calls it in slurmstepd, with srun's value. */
	if (remote)
		return ESPANK_SUCCESS;
	if (!spank_knows_type(type)) {
		slurm_error(
			"storm: --launch=%s: allowed values are storm and slurm",
			type ? type : "");
		return ESPANK_BAD_ARG;
	}
	if (spank_context() == S_CTX_LOCAL)
		spank_choose_type(type, false);
	else if (setenv(LAUNCH_ENV, type, 1))
		return ESPANK_ERROR;
	return ESPANK_SUCCESS;
}

static struct spank_option option = {
	.name = "launch",
	.arginfo = "TYPE",
	.usage = "launch steps by storm (multicast) or slurm",
	.has_arg = 1,
	.cb = spank_opt_launch,
};

/* ------------------------------------------------- gang scheduling --- */

static void spank_log_info(const char *text)
{
	slurm_info("storm: %s", text);
}

/*
 * SPANK has no items for all that is asked here of a step, but its handle, which
 * begins like this (Slurm's plugstack.c), points to it.  NULL: it does not.
 */
static const stepd_step_rec_t *spank_step_of(spank_t sp, uint32_t job_id,
					     uint32_t step_id)
{
	const struct {
		int magic;
		void *plugin;
		int phase;
		const stepd_step_rec_t *job;
	} *handle = (const void *) sp;

	if (handle->magic != 0x00a5a500 || !handle->job ||
	    handle->job->step_id.job_id != job_id ||
	    handle->job->step_id.step_id != step_id) {
		slurm_error(
			"storm: SPANK's handle has an unknown layout: steps of debuggers cannot be recognized");
		return NULL;
	}
	return handle->job;
}

static void spank_begin_step(spank_t sp)
{
	const stepd_step_rec_t *step;
	struct step_gang s = { 0 };

	if (slurm_build_refusal() || !&conf || !conf || !conf->node_name ||
	    spank_get_item(sp, S_JOB_ID, &s.job) ||
	    spank_get_item(sp, S_JOB_STEPID, &s.step) ||
	    spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &s.tasks) ||
	    s.step == SLURM_EXTERN_CONT)
		return;
	s.script = s.step == SLURM_BATCH_SCRIPT ||
		   s.step == SLURM_INTERACTIVE_STEP;
	s.yields = spank_turns_yield(sp);
	step = spank_step_of(sp, s.job, s.step);
	if (step) {
		s.het = step->step_id.step_het_comp;
		s.uid = step->uid;
		/* a debugger stops and continues the tasks itself */
		s.debugged = step->flags & LAUNCH_PARALLEL_DEBUG;
	}
	step_gang_begin(conf->node_name, &s, spank_log_info);
	spank_fallback_tell(sp, conf->node_name,
			    &(struct step_owner) { .job = s.job,
						   .step = s.step,
						   .het = s.het,
						   .uid = s.uid });
}

int slurm_spank_task_init_privileged(spank_t sp, int ac, char **av)
{
	step_gang_enter();
	return ESPANK_SUCCESS;
}

/* slurmstepd forks no more tasks, so a thread may be started. */
int slurm_spank_task_post_fork(spank_t sp, int ac, char **av)
{
	step_gang_forked();
	return ESPANK_SUCCESS;
}

int slurm_spank_exit(spank_t sp, int ac, char **av)
{
	if (spank_context() == S_CTX_REMOTE)
		step_gang_end();
	return ESPANK_SUCCESS;
}

int slurm_spank_slurmd_exit(spank_t sp, int ac, char **av)
{
	spank_slurmd_end();
	return ESPANK_SUCCESS;
}

/* ------------------------------------------------------- the options --- */

int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	spank_wait_preload(sp);
	step_gang_wait();
	spank_resident_begin(sp);
	return ESPANK_SUCCESS;
}

int slurm_spank_init(spank_t sp, int ac, char **av)
{
	const char *type;
	int rc;

	switch (spank_context()) {
	case S_CTX_LOCAL:
		spank_fallback_forget();
		if (!spank_wait_is_valid() || !spank_turns_is_valid() ||
		    !resident_srun_is_valid())
			return ESPANK_BAD_ARG;
		/* From sbatch, salloc or the user; the option overrides it. */
		if (!(type = getenv(LAUNCH_ENV)) || !type[0])
			break;
		if (!spank_knows_type(type)) {
			slurm_error(
				"storm: %s=%s: allowed values are storm and slurm",
				LAUNCH_ENV, type);
			return ESPANK_BAD_ARG;
		}
		spank_choose_type(type, true);
		break;
	case S_CTX_REMOTE:
		spank_begin_step(sp);
		spank_wait_begin(sp);
		break;
	case S_CTX_SLURMD:
		spank_slurmd_begin();
		return ESPANK_SUCCESS;
	case S_CTX_ALLOCATOR:
		break;
	default:
		return ESPANK_SUCCESS;
	}
	if ((rc = spank_option_register(sp, &option)))
		return rc;
	if ((rc = spank_option_register(sp, &spank_wait_option)))
		return rc;
	if ((rc = spank_option_register(sp, &spank_turns_option)))
		return rc;
	/* one word for two things: a job has launchers, a step uses them */
	return spank_option_register(sp, spank_context() == S_CTX_LOCAL ?
						 &resident_srun_option :
						 &spank_resident_option);
}

int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	if (spank_context() != S_CTX_LOCAL)
		return ESPANK_SUCCESS;
	resident_srun_opted();
	spank_launch_opted();
	return ESPANK_SUCCESS;
}

int slurm_spank_local_user_init(spank_t sp, int ac, char **av)
{
	resident_srun_begins();
	spank_launch_begins();
	return ESPANK_SUCCESS;
}
