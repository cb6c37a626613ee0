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

#include "src/storm_common/slurm_build.h"
#include "src/storm_common/state_keys.h"
#include "status_begin.h"
#include "storm_config.h"
#include "why_show.h"

enum { FINE = 0, WRONG = 1, USAGE = 2 };

static const char usage[] =
	"Usage: storm why [OPTIONS] [JOB[.STEP]]\n"
	"Show why Slurm launched steps in STORM's place: of this job, or the last ones.\n"
	"\n"
	"      --json            print JSON\n"
	"  -V, --version         print the version\n"
	"  -h, --help            print this summary\n"
	"\n"
	"Exit status: 0 shown, 1 nothing is known, 2 usage.\n";

/* Is it JOB or JOB.STEP, in digits? */
static bool why_is_step(const char *text)
{
	size_t job = strspn(text, "0123456789");
	const char *step = text + job + 1;

	if (!job || job > 9 || !text[job])
		return job && job <= 9;
	return text[job] == '.' && *step && strlen(step) <= 9 &&
	       !step[strspn(step, "0123456789")];
}

/* Some agents were not heard. */
static void why_tell_silent(const struct status_nodes *n)
{
	uint32_t silent = 0;

	for (uint32_t i = 0; i < n->count; i++)
		silent += n->node[i].silent;
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
		return WRONG;
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
	return err || (step && !shown) ? WRONG : FINE;
}

int main(int argc, char **argv)
{
	enum { OPTION_JSON = 256 };
	static const struct option options[] = {
		{ "json", no_argument, NULL, OPTION_JSON },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	bool json = false;
	int c;

	while ((c = getopt_long(argc, argv, "Vh", options, NULL)) >= 0) {
		switch (c) {
		case OPTION_JSON:
			json = true;
			break;
		case 'V':
			printf("storm " STORM_VERSION ", %s\n",
			       slurm_build_describe());
			return FINE;
		case 'h':
			fputs(usage, stdout);
			return FINE;
		default:
			return USAGE;
		}
	}
	if (argc - optind > 1 ||
	    (optind < argc && !why_is_step(argv[optind]))) {
		fprintf(stderr,
			"storm: why takes one JOB or JOB.STEP, not %s; see storm why --help\n",
			argv[argc - 1]);
		return USAGE;
	}
	return why_run(argv[optind], json);
}
