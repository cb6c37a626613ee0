/*
 * storm_why.c - storm why: why Slurm launched a step in STORM's place.  The agents keep
 * the last ones, so it is known when the step is over.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "slurm/slurm.h"

#include "src/storm_common/fallback_word.h"
#include "src/storm_common/show_options.h"
#include "src/storm_common/state_keys.h"
#include "status_begin.h"
#include "status_facts.h"
#include "why_show.h"

static const char usage[] =
	"Usage: storm why [OPTIONS] [JOB[.STEP]]\n"
	"Show why Slurm launched steps in STORM's place: of this job, or the last ones.\n"
	"\n"
	"      --json            print JSON\n"
	"  -V, --version         print the version\n"
	"  -h, --help            print this summary\n"
	"\n"
	"Exit status: 0 shown, 1 nothing is known, 2 usage.\n";

/* Some agents were not heard. */
static void why_tell_silent(const struct status_nodes *n)
{
	uint32_t silent = status_silent(n);

	if (silent)
		fprintf(stderr,
			"storm: %u of %u agents do not answer: storm status says why\n",
			silent, n->count);
}

static void why_tell_nothing(const char *step)
{
	if (step)
		fprintf(stderr,
			"storm: no agent knows that Slurm launched a step %s of yours in STORM's place: STORM launched it, it has fewer than LaunchNodes nodes, did not ask for --launch=storm, or is long ago\n",
			step);
	else
		fprintf(stderr,
			"storm: no agent knows a step of yours that Slurm launched in STORM's place\n");
}

static int why_run(const char *step, bool json)
{
	struct status_nodes nodes;
	struct status_answer answer;
	struct storm_conf conf;
	char query[32];
	uint32_t shown = 0;
	int err;

	if (!status_begin(NULL, &conf, &nodes))
		return SHOW_WRONG;
	snprintf(query, sizeof(query), STATE_WHY "%s%s", step ? " " : "",
		 step ? step : "");
	err = status_ask(&nodes, &conf, query, &answer);
	if (err)
		status_say(err);
	else
		shown = json ? why_show_json(stdout, &nodes, &answer) :
			       why_show_text(stdout, &nodes, &answer);
	if (why_more(&answer))
		fprintf(stderr,
			"storm: %" PRIu64
			" more found no room in the answer: ask for one job\n",
			why_more(&answer));
	why_tell_silent(&nodes);
	if (!err && !shown)
		why_tell_nothing(step);
	status_answer_clear(&answer);
	status_nodes_clear(&nodes);
	return err || (step && !shown) ? SHOW_WRONG : SHOW_FINE;
}

int main(int argc, char **argv)
{
	struct fallback_which which;
	struct show_options o;
	int code;

	if (!show_options(argc, argv, "Vh", usage, &o, &code))
		return code;
	if (argc - optind > 1 ||
	    (optind < argc &&
	     !(fallback_parse(argv[optind], &which) && which.one))) {
		fprintf(stderr,
			"storm: why takes one JOB or JOB.STEP, not %s; see storm why --help\n",
			argv[argc - 1]);
		return SHOW_USAGE;
	}
	return why_run(argv[optind], o.json);
}
