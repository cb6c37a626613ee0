/*
 * storm_status.c - storm status: what the agents of all nodes say, by one question.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "slurm/slurm.h"

#include "src/storm_common/slurm_build.h"
#include "src/storm_common/state_keys.h"
#include "status_begin.h"
#include "status_show.h"
#include "storm_config.h"

enum { FINE = 0, WRONG = 1, USAGE = 2 };

static const char usage[] =
	"Usage: storm status [OPTIONS]\n"
	"Show what the agents of all nodes say: who answers, versions, health, gang\n"
	"scheduling, launches and broadcasts.\n"
	"\n"
	"  -w, --nodelist=NODES  these nodes alone\n"
	"      --json            print JSON\n"
	"  -V, --version         print the version\n"
	"  -h, --help            print this summary\n"
	"\n"
	"Exit status: 0 all is well, 1 something is wrong, 2 usage.\n";

static int status_run(const char *list, bool json)
{
	struct status_nodes nodes;
	struct status_answer answer;
	struct storm_conf conf;
	int err;
	bool wrong;

	if (!status_begin(list, &conf, &nodes))
		return WRONG;
	err = status_ask(&nodes, &conf, STATE_QUERY, &answer);
	if (err) {
		status_say(err);
		wrong = true;
	} else {
		wrong = json ? status_show_json(stdout, &nodes, &answer,
						conf.set.port) :
			       status_show_text(stdout, &nodes, &answer,
						conf.set.port);
	}
	status_answer_clear(&answer);
	status_nodes_clear(&nodes);
	return wrong ? WRONG : FINE;
}

int main(int argc, char **argv)
{
	enum { OPTION_JSON = 256 };
	static const struct option options[] = {
		{ "nodelist", required_argument, NULL, 'w' },
		{ "json", no_argument, NULL, OPTION_JSON },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *list = NULL;
	bool json = false;
	int c;

	while ((c = getopt_long(argc, argv, "w:Vh", options, NULL)) >= 0) {
		switch (c) {
		case 'w':
			list = optarg;
			break;
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
	if (optind < argc) {
		fprintf(stderr,
			"storm: status takes no %s; see storm status --help\n",
			argv[optind]);
		return USAGE;
	}
	return status_run(list, json);
}
