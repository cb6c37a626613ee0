/*
 * storm_metrics.c - storm metrics: what the agents of all nodes say, for Prometheus.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics_ask.h"
#include "metrics_file.h"
#include "metrics_text.h"
#include "src/storm_common/show_options.h"
#include "src/storm_common/slurm_build.h"
#include "storm_config.h"

static const char usage[] =
	"Usage: storm metrics [OPTIONS]\n"
	"Print what the agents of all nodes say as OpenMetrics, for Prometheus.\n"
	"\n"
	"  -w, --nodelist=NODES  these nodes alone\n"
	"      --plain           print the text that promtool check metrics reads\n"
	"      --textfile=PATH   write this file, for node_exporter\n"
	"  -V, --version         print the version\n"
	"  -h, --help            print this summary\n"
	"\n"
	"Exit status: 0 the agents were asked, 1 they could not be, 2 usage.\n";

enum { OPTION_PLAIN = 256, OPTION_TEXTFILE };

struct metrics_options {
	const char *list, *textfile;
	enum metrics_form form;
};

/* False: the program ends with *code. */
static bool metrics_options(int argc, char **argv, struct metrics_options *out,
			    int *code)
{
	static const struct option options[] = {
		{ "nodelist", required_argument, NULL, 'w' },
		{ "plain", no_argument, NULL, OPTION_PLAIN },
		{ "textfile", required_argument, NULL, OPTION_TEXTFILE },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	int c;

	*out = (struct metrics_options) { 0 };
	*code = SHOW_FINE;
	while ((c = getopt_long(argc, argv, "w:Vh", options, NULL)) >= 0) {
		switch (c) {
		case 'w':
			out->list = optarg;
			break;
		case OPTION_PLAIN:
			out->form = METRICS_PLAIN;
			break;
		case OPTION_TEXTFILE:
			out->textfile = optarg;
			break;
		case 'V':
			printf("storm " STORM_VERSION ", %s\n",
			       slurm_build_describe());
			return false;
		case 'h':
			fputs(usage, stdout);
			return false;
		default:
			*code = SHOW_USAGE;
			return false;
		}
	}
	if (optind == argc)
		return true;
	fprintf(stderr,
		"storm: metrics takes no %s; see storm metrics --help\n",
		argv[optind]);
	*code = SHOW_USAGE;
	return false;
}

/* The sums as they are: nothing was counted before. */
static bool metrics_print(const struct metrics *m, enum metrics_form form)
{
	struct metrics_shown s = { .m = m };

	if (m->shown)
		s.counter = m->counter;
	metrics_text(stdout, &s, form);
	if (!fflush(stdout))
		return true;
	perror("storm: standard output");
	return false;
}

int main(int argc, char **argv)
{
	struct metrics_options o;
	struct metrics m;
	bool fine, told;
	char *names;
	int code;

	if (!metrics_options(argc, argv, &o, &code))
		return code;
	fine = metrics_ask(o.list, &m, &names);
	if (o.textfile) {
		told = metrics_file_write(o.textfile, &m, names);
	} else {
		told = metrics_print(&m, o.form);
		free(names);
	}
	return fine && told ? SHOW_FINE : SHOW_WRONG;
}
