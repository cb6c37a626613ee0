/*
 * storm_jobs.c - storm jobs: who shares cores with whom, by which turns, and what each
 * has had of its share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "slurm/slurm.h"

#include "jobs_load.h"
#include "jobs_show.h"
#include "src/storm_common/show_options.h"
#include "src/storm_common/slurm_build.h"

static const char usage[] =
	"Usage: storm jobs [OPTIONS] [JOB...]\n"
	"Show the jobs that share cores, with whom, their turns, and what they had of them.\n"
	"\n"
	"  -a, --all      all running jobs\n"
	"      --json     print JSON\n"
	"  -V, --version  print the version\n"
	"  -h, --help     print this summary\n"
	"\n"
	"Exit status: 0 all is well, 1 something is wrong, 2 usage.\n";

/* Name each that was asked for and does not run. */
static bool jobs_tell_missing(const struct jobs *j, const struct jobs_wish *w)
{
	bool missing = false;

	for (unsigned int i = 0; i < w->nids; i++) {
		uint32_t k = 0;

		while (k < j->count && !jobs_is_named(&j->job[k], w->ids[i]))
			k++;
		if (k < j->count)
			continue;
		fprintf(stderr,
			"storm: no job %s runs that you may see; see squeue, or storm jobs --all\n",
			w->ids[i]);
		missing = true;
	}
	return missing;
}

static int jobs_run(const struct jobs_wish *w, bool json)
{
	struct jobs jobs;
	const char *why;
	uint32_t shown;
	bool wrong;

	if (slurm_build_refusal()) {
		fprintf(stderr, "storm: %s\n", slurm_build_refusal());
		return SHOW_WRONG;
	}
	slurm_init(NULL);
	if ((why = jobs_load(&jobs))) {
		fprintf(stderr, "storm: slurmctld does not say its jobs: %s\n",
			why);
		jobs_clear(&jobs);
		return SHOW_WRONG;
	}
	wrong = json ? jobs_show_json(stdout, &jobs, w, &shown) :
		       jobs_show_text(stdout, &jobs, w, &shown);
	wrong = jobs_tell_missing(&jobs, w) || wrong;
	jobs_clear(&jobs);
	if (!shown && !w->nids && !json)
		fprintf(stderr, "storm: no jobs share cores%s\n",
			w->all ? ", and none runs" : "");
	return wrong ? SHOW_WRONG : SHOW_FINE;
}

int main(int argc, char **argv)
{
	struct show_options o;
	struct jobs_wish w;
	int code;

	if (!show_options(argc, argv, "aVh", usage, &o, &code))
		return code;
	w = (struct jobs_wish) { .all = o.all,
				 .ids = argv + optind,
				 .nids = (unsigned int) (argc - optind) };
	for (unsigned int i = 0; i < w.nids; i++)
		if (!*w.ids[i] || w.ids[i][strspn(w.ids[i], "0123456789_+")]) {
			fprintf(stderr,
				"storm: %s is no job; see storm jobs --help\n",
				w.ids[i]);
			return SHOW_USAGE;
		}
	return jobs_run(&w, o.json);
}
