/*
 * show_options.c - see show_options.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "show_options.h"
#include "slurm_build.h"
#include "storm_config.h"

#define OPTION_JSON 256
#define COLUMNS 80 /* where neither a terminal nor COLUMNS says how many */

static const struct option known[] = {
	{ "all", no_argument, NULL, 'a' },
	{ "nodelist", required_argument, NULL, 'w' },
	{ "delay", required_argument, NULL, 'd' },
	{ "once", no_argument, NULL, '1' },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
};
#define KNOWN (sizeof(known) / sizeof(*known))

int show_usual(int c, const char *usage)
{
	switch (c) {
	case 'V':
		printf("storm " STORM_VERSION ", %s\n", slurm_build_describe());
		return SHOW_FINE;
	case 'h':
		fputs(usage, stdout);
		return SHOW_FINE;
	default:
		return SHOW_USAGE;
	}
}

bool show_options(int argc, char **argv, const char *letters, const char *usage,
		  struct show_options *out, int *code)
{
	struct option options[KNOWN + 1] = { 0 };
	size_t n = 0;
	int c;

	for (size_t i = 0; i < KNOWN; i++)
		if (known[i].val == OPTION_JSON ||
		    strchr(letters, known[i].val))
			options[n++] = known[i];
	*out = (struct show_options) { 0 };
	*code = SHOW_FINE;
	while ((c = getopt_long(argc, argv, letters, options, NULL)) >= 0) {
		switch (c) {
		case 'a':
			out->all = true;
			break;
		case 'w':
			out->list = optarg;
			break;
		case 'd':
			out->delay = optarg;
			break;
		case '1':
			out->once = true;
			break;
		case OPTION_JSON:
			out->json = true;
			break;
		default:
			*code = show_usual(c, usage);
			return false;
		}
	}
	return true;
}

bool show_no_argument(int argc, char **argv, const char *command)
{
	if (optind >= argc)
		return true;
	fprintf(stderr, "storm: %s takes no %s; see storm %s --help\n", command,
		argv[optind], command);
	return false;
}

unsigned int show_columns(void)
{
	const char *env = getenv("COLUMNS");
	struct winsize size;
	int n = env ? atoi(env) : 0;

	if (n <= 0 && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		n = size.ws_col;
	return n > 0 ? (unsigned int) n : COLUMNS;
}
