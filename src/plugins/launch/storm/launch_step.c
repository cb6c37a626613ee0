/*
 * launch_step.c - a step in srun, the user's launcher of the paper (section
 * 2.1).  It adapts srun to
 *	bcast.c		the file (--bcast)
 *	fanout.c	the launch message
 *	report.c	starts and exits
 *	timeline.c	times and counters
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <signal.h>

#include "src/common/slurm_xlator.h"

#include "src/common/log.h"
#include "src/common/slurm_opt.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "launch_step.h"
#include "progress.h"
#include "report.h"

char *launch_step_not_served(const char *what)
{
	char *why = xstrdup_printf("%s is not supported", what);

	storm_warn_once(why, LAUNCH_OTHERWISE);
	return why;
}

struct storm_session *launch_step_begin(const srun_job_t *job, uint64_t start,
					const char *not_served, bool few)
{
	struct storm_session *s =
		storm_session_create(&job->step_ctx->step_req->step_id);

	s->few = few;
	if (few && !s->fallback)
		s->fallback = xstrdup("LaunchNodes");
	step_addrs_of_step(&s->addrs, job->step_ctx->step_resp);
	s->rec.phase[LAUNCH_PHASE_STEP_CREATE].start = start;
	s->rec.phase[LAUNCH_PHASE_STEP_CREATE].end = storm_now();
	if (not_served && !s->fallback) {
		s->fallback = launch_step_not_served(not_served);
		s->not_served = true;
	}
	return s;
}

/* Make the domain of all nodes but odd ones, and have `open` open it.  NULL, or why not
 * (xfree). */
static char *launch_step_join(struct storm_session *s, const char *nodelist,
			      char *(*open)(struct step_domain *sd))
{
	struct step_domain_conf sdc;
	char *why = NULL;

	task_reports_conf(s, &sdc);
	s->domain = step_domain_create(nodelist, &sdc, &why);
	if (s->domain && (why = open(s->domain)))
		storm_session_drop_domain(s);
	return why;
}

void launch_step_open(struct storm_session *s, const srun_job_t *job,
		      const slurm_opt_t *opt_local)
{
	const slurm_step_layout_t *layout =
		job->step_ctx->step_resp->step_layout;
	char *why;

	if (s->fallback || opt_local->srun_opt->pty || !layout)
		return;
	why = launch_step_join(s, layout->node_list, step_domain_begin);
	xfree(why);
}

bool launch_step_check(struct storm_session *s, const srun_job_t *job,
		       const slurm_opt_t *opt_local)
{
	const slurm_step_layout_t *layout =
		job->step_ctx->step_resp->step_layout;
	char *why;

	if (s->conf->failed_launch == FAILED_LAUNCH_FALLBACK || s->fallback ||
	    opt_local->srun_opt->pty || !layout)
		return true;
	s->odd.may_leave = s->conf->failed_launch == FAILED_LAUNCH_RETRY &&
			   opt_local->no_kill;
	do {
		s->odd.again = false;
		why = launch_step_join(s, layout->node_list, step_domain_open);
		if (s->odd.again)
			xfree(why);
	} while (s->odd.again);
	if (s->odd.stop) {
		xfree(why);
		return false;
	}
	/* no need to find that once more; but only storm_bcast() goes round
	 * nodes that have failed */
	if (why && s->conf->fallback != FALLBACK_NEVER &&
	    !opt_local->srun_opt->bcast_flag)
		(void) storm_fall_back(s->conf->fallback, LAUNCH_OTHERWISE,
				       step_odd_why_all(&s->odd, why),
				       &s->fallback);
	else
		xfree(why);
	/* a file needs a domain with its credential */
	if (opt_local->srun_opt->bcast_flag)
		storm_session_drop_domain(s);
	return true;
}

int launch_step_bcast(struct storm_session *s, struct bcast_parameters *params)
{
	struct step_cast cast = {
		.conf = s->conf,
		.otherwise = LAUNCH_OTHERWISE,
		.rec = &s->rec,
		.abort = &s->abort,
		.bar = progress_has_terminal(),
	};
	int rc;

	task_reports_conf(s, &cast.sdc);
	rc = storm_bcast(&cast, params);
	s->domain = cast.domain;
	s->fallback = cast.fallback;
	s->not_served = cast.not_served;
	if (rc) {
		/* Close now, or nodes keep a part of the file until they time
		 * out.  srun's shepherd ends the step. */
		storm_session_drop_domain(s);
		storm_record_write(&s->rec);
		return rc;
	}
	if (!s->fallback && (params->flags & BCAST_FLAG_SEND_LIBS))
		s->libdir = xstrdup_printf("%s_libs", params->dst_fname);
	return SLURM_SUCCESS;
}

/*
 * srun reads its own stdin even if the nodes open the tasks' (--input=in.%t).
 * It sends them what it reads, at least end of file.  Slurm's slurmstepd does
 * not expect that and crashes.
 */
static void launch_step_no_stdin_twice(const srun_job_t *job,
				       slurm_step_io_fds_t *cio_fds,
				       const slurm_opt_t *opt_local)
{
	if (!opt_local->srun_opt->pty && job->ifname &&
	    job->ifname->type == IO_PER_TASK)
		cio_fds->input.fd = -1;
}

static bool launch_step_is_null(const fname_t *f)
{
	return f && !xstrcmp(f->name, "/dev/null");
}

void launch_step_stdio(struct storm_session *s, const srun_job_t *job,
		       slurm_step_io_fds_t *cio_fds,
		       const slurm_opt_t *opt_local)
{
	if (s)
		s->no_stdio = launch_step_is_null(job->ifname) &&
			      launch_step_is_null(job->ofname) &&
			      launch_step_is_null(job->efname);
	launch_step_no_stdin_twice(job, cio_fds, opt_local);
}

void launch_step_before_status(void)
{
	storm_session_await_starts();
}

void launch_step_before_signal(int signal)
{
	storm_session_await_starts();
	if (signal == SIGKILL)
		storm_session_abort_all();
}
