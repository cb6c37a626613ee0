/*
 * storm_status.c - storm status: what the agents of all nodes say, by one question.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "slurm/slurm.h"

#include "src/storm_common/show_options.h"
#include "src/storm_common/state_keys.h"
#include "status_begin.h"
#include "status_show.h"

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
		return SHOW_WRONG;
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
	return wrong ? SHOW_WRONG : SHOW_FINE;
}

int main(int argc, char **argv)
{
	struct show_options o;
	int code;

	if (!show_options(argc, argv, "w:Vh", usage, &o, &code))
		return code;
	if (!show_no_argument(argc, argv, "status"))
		return SHOW_USAGE;
	return status_run(o.list, o.json);
}
