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
#include "metrics_listen.h"
#include "metrics_text.h"
#include "src/storm_common/show_options.h"

static const char usage[] =
	"Usage: storm metrics [OPTIONS]\n"
	"Print what the agents of all nodes say as OpenMetrics, for Prometheus.\n"
	"\n"
	"  -w, --nodelist=NODES  these nodes alone\n"
	"      --plain           print the text that promtool check metrics reads\n"
	"      --listen=[ADDRESS:]PORT  answer GET /metrics on loopback until SIGTERM\n"
	"      --interval=SECONDS  with --listen: ask so often, default 15\n"
	"      --textfile=PATH   write this file, for node_exporter\n"
	"  -V, --version         print the version\n"
	"  -h, --help            print this summary\n"
	"\n"
	"Exit status: 0 the agents were asked, 1 they could not be, 2 usage.\n";

enum { OPTION_PLAIN = 256, OPTION_TEXTFILE, OPTION_LISTEN, OPTION_INTERVAL };

#define INTERVAL 15 /* s */
#define INTERVAL_MOST 3600

struct metrics_options {
	const char *list, *textfile, *listen;
	unsigned int interval;
	enum metrics_form form;
};

/* False: it is none, which was said. */
static bool metrics_interval(const char *text, unsigned int *out)
{
	size_t len = strspn(text, "0123456789");
	unsigned long s = strtoul(text, NULL, 10);

	*out = (unsigned int) s;
	if (len && len <= 4 && !text[len] && s && s <= INTERVAL_MOST)
		return true;
	fprintf(stderr, "storm: --interval=%s: give 1 to %d seconds\n", text,
		INTERVAL_MOST);
	return false;
}

/* False: the program ends with *code. */
static bool metrics_options(int argc, char **argv, struct metrics_options *out,
			    int *code)
{
	static const struct option options[] = {
		{ "nodelist", required_argument, NULL, 'w' },
		{ "plain", no_argument, NULL, OPTION_PLAIN },
		{ "textfile", required_argument, NULL, OPTION_TEXTFILE },
		{ "listen", required_argument, NULL, OPTION_LISTEN },
		{ "interval", required_argument, NULL, OPTION_INTERVAL },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	int c;

	*out = (struct metrics_options) { .interval = INTERVAL };
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
		case OPTION_LISTEN:
			out->listen = optarg;
			break;
		case OPTION_INTERVAL:
			if (!metrics_interval(optarg, &out->interval)) {
				*code = SHOW_USAGE;
				return false;
			}
			break;
		default:
			*code = show_usual(c, usage);
			return false;
		}
	}
	if (out->listen && out->textfile) {
		fputs("storm: metrics: --listen and --textfile do not go together\n",
		      stderr);
		*code = SHOW_USAGE;
		return false;
	}
	if (show_no_argument(argc, argv, "metrics"))
		return true;
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
	if (o.listen)
		return metrics_listen(o.listen, o.list, o.interval);
	fine = metrics_ask(o.list, &m, &names);
	if (o.textfile) {
		told = metrics_file_write(o.textfile, &m, names);
	} else {
		told = metrics_print(&m, o.form);
		free(names);
	}
	return fine && told ? SHOW_FINE : SHOW_WRONG;
}
