/*
 * storm_why.c - storm why: why a launch was slow, or why Slurm launched a step in STORM's
 * place.  The agents keep the last ones, so it is known when the step is over.
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
#include "why_launch.h"
#include "why_show.h"

static const char usage[] =
	"Usage: storm why [OPTIONS] [JOB[.STEP]]\n"
	"Show how long launches by STORM took, phase by phase, and why Slurm launched steps\n"
	"in STORM's place: of this job, or the last ones.\n"
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
			"storm: no agent knows a step %s of yours: it has fewer than LaunchNodes nodes, did not ask for --launch=storm, was over at once, or is long ago\n",
			step);
	else
		fprintf(stderr,
			"storm: no agent knows a launch of a step of yours\n");
}

/* What was answered to a question, and its text beside it; a word and the step. */
static int why_ask(struct status_nodes *nodes, const struct storm_conf *c,
		   const char *word, const char *step,
		   struct status_answer *out)
{
	char query[32];
	int err;

	snprintf(query, sizeof(query), "%s%s%s", word, step ? " " : "",
		 step ? step : "");
	err = status_ask(nodes, c, query, out);
	if (err)
		status_say(err);
	return err;
}

static uint32_t why_show(const struct status_nodes *nodes,
			 const struct status_answer *fallen,
			 const struct why_launches *launches,
			 const struct fallback_which *which, bool json)
{
	json_object *list;
	uint32_t shown;

	if (!json) {
		shown = why_show_text(stdout, nodes, fallen);
		return shown + why_launches_text(stdout, launches, which);
	}
	list = json_object_new_array();
	shown = why_show_json(list, nodes, fallen);
	shown += why_launches_json(list, launches, which);
	printf("%s\n",
	       json_object_to_json_string_ext(list, JSON_C_TO_STRING_PLAIN));
	json_object_put(list);
	return shown;
}

/* What the agents have answered. */
struct why_answers {
	struct status_answer fallen, launched, last;
};

/* An error is said.  Some of it may be there nevertheless. */
static int why_ask_all(struct status_nodes *nodes, const struct storm_conf *c,
		       const char *step, struct why_answers *a)
{
	char last[32];
	int err = why_ask(nodes, c, STATE_WHY, step, &a->fallen);

	if (err)
		return err;
	if (step)
		err = why_ask(nodes, c, STATE_LAUNCHED, step, &a->launched);
	/* the last ones are beside a job's own only for the medians */
	if (!err && (!step || a->launched.table.count)) {
		snprintf(
			last, sizeof(last), "%" PRIu32,
			why_launches_each(nodes->count - status_silent(nodes)));
		err = why_ask(nodes, c, STATE_LAUNCHED_LAST, last, &a->last);
	}
	if (err)
		fprintf(stderr,
			"storm: launches by STORM or their medians are missing below: try again\n");
	return err;
}

static void why_tell_more(const struct why_answers *a, const char *step)
{
	uint64_t more = why_more(&a->fallen) + why_more(&a->launched);

	if (more)
		fprintf(stderr,
			"storm: %" PRIu64
			" more found no room in the answer: ask for one %s\n",
			more, step ? "step" : "job");
	if (!why_more(&a->last))
		return;
	if (step)
		fprintf(stderr,
			"storm: %" PRIu64
			" launches of others found no room in the answer: the medians are of fewer\n",
			why_more(&a->last));
	else
		fprintf(stderr,
			"storm: %" PRIu64
			" more launches found no room in the answer, which may be newer: ask for one job\n",
			why_more(&a->last));
}

static int why_run(const char *step, const struct fallback_which *which,
		   bool json)
{
	struct why_answers got = { 0 };
	struct why_launches launches;
	struct status_nodes nodes;
	struct storm_conf conf;
	uint32_t shown;
	int err;

	if (!status_begin(NULL, &conf, &nodes))
		return SHOW_WRONG;
	err = why_ask_all(&nodes, &conf, step, &got);
	launches = why_launches_read(&nodes, &got.launched, &got.last);
	shown = err && !got.fallen.table.count && !launches.count ?
			0 :
			why_show(&nodes, &got.fallen, &launches, which, json);
	why_tell_more(&got, step);
	why_tell_silent(&nodes);
	if (!err && !shown)
		why_tell_nothing(step);
	why_launches_clear(&launches);
	status_answer_clear(&got.last);
	status_answer_clear(&got.launched);
	status_answer_clear(&got.fallen);
	status_nodes_clear(&nodes);
	return err || (step && !shown) ? SHOW_WRONG : SHOW_FINE;
}

int main(int argc, char **argv)
{
	struct fallback_which which = { 0 };
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
	return why_run(argv[optind], &which, o.json);
}
