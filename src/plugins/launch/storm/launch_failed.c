/*
 * launch_failed.c - see launch_failed.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/common/slurm_xlator.h"

#include "src/common/hostlist.h"
#include "src/common/log.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "launch_failed.h"
#include "src/slurm/step_over.h"

static struct {
	slurm_step_id_t step_id; /* before the first creation */
	int immediate;		 /* of the user's options, likewise */
	char *excluded;		 /* nodes that have failed; NULL: none yet */
	char *why;		 /* the step is being created again */
	char *else_why;		 /* the message if that fails */
} made;

void launch_failed_begin(const srun_job_t *job)
{
	made.step_id = job->step_id;
	xfree(made.excluded);
}

static void launch_failed_settle(slurm_opt_t *opt_local)
{
	opt_local->immediate = made.immediate;
	xfree(made.why);
	xfree(made.else_why);
}

/* Log why the step would have been created again. */
static void launch_failed_not_created(slurm_opt_t *opt_local)
{
	if (!made.why)
		return;
	error("storm: %s", made.else_why);
	launch_failed_settle(opt_local);
}

/* No node has heard of the step, so no slurmstepd will say that it is over. */
static void launch_failed_end(const srun_job_t *job)
{
	const slurm_step_layout_t *layout =
		job->step_ctx->step_resp->step_layout;

	(void) step_over_tell(&job->step_ctx->step_req->step_id, 0,
			      layout->node_cnt - 1, 0, working_cluster_rec);
}

/* Has the list any of these nodes? */
static bool launch_failed_names(const char *nodelist, const char *nodes)
{
	struct hostlist *hl = hostlist_create(nodelist);
	struct hostlist *some = hostlist_create(nodes);
	bool found = false;
	char *name;

	while (hl && (name = hostlist_shift(some))) {
		found |= hostlist_find(hl, name) >= 0;
		free(name);
	}
	hostlist_destroy(some);
	if (hl)
		hostlist_destroy(hl);
	return found;
}

/* Where the user has -x and not -w, srun chooses nodes itself, and has them here. */
static bool launch_failed_chose(slurm_opt_t *opt_local)
{
	return opt_local->exclude && !slurm_option_set_by_cli(opt_local, 'w') &&
	       !slurm_option_set_by_env(opt_local, 'w');
}

/* Has the job enough nodes besides these for such a step?  They may be busy. */
static bool launch_failed_has_others(const srun_job_t *job,
				     const slurm_opt_t *opt_local,
				     const char *failed)
{
	struct hostlist *hl = hostlist_create(job->nodelist);
	int need = (int) job->nhosts;
	bool enough = false;

	if (opt_local->min_nodes && opt_local->min_nodes < need)
		need = opt_local->min_nodes;
	if (!hl)
		return false;
	hostlist_uniq(hl);
	hostlist_delete(hl, failed);
	if (opt_local->exclude)
		hostlist_delete(hl, opt_local->exclude);
	enough = hostlist_count(hl) >= need;
	hostlist_destroy(hl);
	return enough;
}

/* May the step be created again on other nodes of its job?  A heterogeneous one has
 * components that were created before. */
static bool launch_failed_may_move(const struct storm_session *s,
				   const srun_job_t *job,
				   slurm_opt_t *opt_local)
{
	const srun_opt_t *srun_opt = opt_local->srun_opt;

	return s->conf->failed_launch == FAILED_LAUNCH_RETRY &&
	       made.step_id.step_id == NO_VAL &&
	       made.step_id.step_het_comp == NO_VAL &&
	       job->het_job_id == NO_VAL &&
	       (uint32_t) srun_opt->relative == NO_VAL &&
	       (opt_local->distribution & SLURM_DIST_STATE_BASE) !=
		       SLURM_DIST_ARBITRARY &&
	       (!opt_local->nodelist || launch_failed_chose(opt_local) ||
		!launch_failed_names(opt_local->nodelist, s->odd.failed)) &&
	       launch_failed_has_others(job, opt_local, s->odd.failed);
}

/* Have srun create the step without the nodes.  They are what --exclude would
 * name; nobody waits for nodes that are busy. */
static void launch_failed_move(const struct storm_session *s, srun_job_t *job,
			       slurm_opt_t *opt_local)
{
	if (!made.why)
		made.immediate = opt_local->immediate;
	opt_local->immediate = 1;
	if (launch_failed_chose(opt_local) && !made.excluded)
		xfree(opt_local->nodelist);
	xstrfmtcat(opt_local->exclude, "%s%s", opt_local->exclude ? "," : "",
		   s->odd.failed);
	xstrfmtcat(made.excluded, "%s%s", made.excluded ? "," : "",
		   s->odd.failed);
	xfree(made.why);
	xfree(made.else_why);
	made.why = step_odd_why_stop(&s->odd);
	made.else_why = step_odd_no_launch(&s->odd);
	job->step_id = made.step_id;
}

static void launch_failed_forget(srun_job_t *job)
{
	close(job->step_ctx->launch_state->slurmctld_socket_fd);
	/* srun's option itself, which the next request has, too */
	job->step_ctx->step_req->name = NULL;
	step_ctx_destroy(job->step_ctx);
	job->step_ctx = NULL;
}

bool launch_failed_again(struct storm_session *s, srun_job_t *job,
			 slurm_opt_t *opt_local, int *rc)
{
	bool again;
	char *why;

	if (*rc) {
		launch_failed_not_created(opt_local);
		return false;
	}
	if (made.why) {
		info("warning: storm: %s; made the step again without, as --exclude=%s does",
		     made.why, made.excluded);
		launch_failed_settle(opt_local);
	}
	if (!s || launch_module_used()->check(s, job, opt_local))
		return false;
	launch_failed_end(job);
	again = launch_failed_may_move(s, job, opt_local);
	if (again) {
		launch_failed_move(s, job, opt_local);
	} else {
		why = step_odd_no_launch(&s->odd);
		error("storm: %s", why);
		xfree(why);
		*rc = SLURM_ERROR;
	}
	launch_module_used()->close(s);
	if (again)
		launch_failed_forget(job);
	return again;
}
