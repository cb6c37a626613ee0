/*
 * sbcast_storm.c - send a file to the nodes of a job.  Options, variables,
 * messages and exit codes are those of sbcast; STORM sends the data (paper
 * section 4.2.1, the "send" phase of a launch, for a file of any kind).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/common/log.h"
#include "src/common/proc_args.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/sbcast/sbcast.h"

#include "sbcast_slurm.h"
#include "src/libstorm/program/prepare.h"
#include "src/plugins/launch/storm/bcast.h"
#include "src/plugins/launch/storm/known_check.h"
#include "src/plugins/launch/storm/progress.h"
#include "src/storm_common/slurm_build.h"
#include "storm_config.h"

#define NAME "sbcast_storm"

static volatile sig_atomic_t signalled;
static bool give_up;

/* Cancel, so that the nodes are notified now and need not time out. */
static void sbcast_on_signal(int sig)
{
	signalled = sig;
	give_up = true;
}

/* Send to one job, or to one component of it, in a domain of its own. */
static int sbcast_one(void)
{
	struct step_cast cast = {
		.otherwise = "falling back to Slurm's standard broadcast",
		.abort = &give_up,
		.bar = progress_has_terminal(),
		.each = true,
	};
	struct step_odd odd = { 0 };
	struct storm_conf conf;
	struct storm_record rec;
	char *why = NULL, *line;
	int rc;

	storm_record_init(&rec, NAME);
	storm_conf_default(&conf);
	if (storm_conf_load(&conf, &why))
		(void) storm_fall_back(FALLBACK_WARN, cast.otherwise,
				       why ? why :
					     xstrdup("cannot read storm.conf"),
				       &cast.fallback);
	cast.conf = &conf;
	cast.rec = &rec;
	odd.conf = &conf;
	cast.sdc.odd = &odd;
	cast.sdc.set = conf.set;
	cast.sdc.health = conf.health.period;
	cast.sdc.step_id.job_id = NO_VAL;
	cast.sdc.step_id.step_id =
		params.selected_step ? params.selected_step->step_id.step_id :
				       NO_VAL;
	cast.sdc.step_id.step_het_comp = NO_VAL;

	rc = storm_bcast(&cast, &params);
	known_check_end();
	if (cast.domain) {
		rec.job_id = cast.sdc.step_id.job_id;
		rec.step_id = cast.sdc.step_id.step_id;
		rec.nodes = cast.domain->count;
		storm_record_domain(&rec, cast.domain->d);
		step_domain_destroy(cast.domain);
	}
	rec.fallback = cast.fallback;
	rec.odd = xstrdup(odd.nodes);
	if (params.verbose > 1 && (line = storm_record_line(&rec))) {
		info("timeline: %s", line);
		xfree(line);
	}
	storm_record_write(&rec);
	storm_record_clear(&rec);
	step_odd_clear(&odd);
	return rc;
}

static bool sbcast_asks_version(const char *option)
{
	return !strcmp(option, "-V") || !strcmp(option, "--version");
}

/* Slurm's line, as sbcast prints it, and STORM's. */
static int sbcast_tell_version(void)
{
	print_slurm_version();
	printf(NAME " " STORM_VERSION ", %s\n", slurm_build_describe());
	return 0;
}

/* STORM was built for another Slurm: become Slurm's sbcast, whose options are
 * the same. */
static int sbcast_become_standard(char **argv)
{
	error("storm: %s; falling back to Slurm's standard broadcast",
	      slurm_build_refusal());
	execvp("sbcast", argv);
	error("storm: cannot run sbcast: %m");
	return 1;
}

int main(int argc, char **argv)
{
	log_options_t opts = LOG_OPTS_STDERR_ONLY;
	struct sigaction sa = { .sa_handler = sbcast_on_signal };
	int rc;

	log_init(NAME, opts, SYSLOG_FACILITY_DAEMON, NULL);
	if (argc == 2 && sbcast_asks_version(argv[1]))
		return sbcast_tell_version();
	if (slurm_build_refusal())
		return sbcast_become_standard(argv);
	sbcast_slurm_init();
	parse_command_line(argc, argv);
	storm_prepare();
	if (params.verbose) {
		opts.stderr_level += params.verbose;
		log_alter(opts, SYSLOG_FACILITY_DAEMON, NULL);
	}
	step_domain_log();
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	rc = sbcast_slurm_each(sbcast_one);
	if (signalled) {
		signal(signalled, SIG_DFL);
		raise(signalled);
	}
	return rc;
}
