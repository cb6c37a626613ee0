/*
 * storm_top.c - storm top: the matrix of gang scheduling, the jobs that share, and what
 * the agents do, again and again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "slurm/slurm.h"

#include "src/libstorm/base/clock.h"
#include "src/storm_common/show_options.h"
#include "top_ask.h"
#include "top_json.h"
#include "top_screen.h"

#define DELAY 2.0 /* s */
#define DELAY_LEAST 0.5
#define DELAY_MOST 3600.0

static const char usage[] =
	"Usage: storm top [OPTIONS]\n"
	"Show live which jobs run in which turns on which nodes, what they get of their\n"
	"share, launches and broadcasts, and nodes that need a look.\n"
	"\n"
	"  -1, --once            print one screen as text, and end\n"
	"      --json            print it as JSON, and end\n"
	"  -d, --delay=SECONDS   ask every so often; 2, and 0.5 at least.  With --once and\n"
	"                        --json: ask twice, so many seconds apart, for rates\n"
	"  -w, --nodelist=NODES  these nodes alone\n"
	"  -V, --version         print the version\n"
	"  -h, --help            print this summary\n"
	"\n"
	"Keys: q end, j and k or arrows scroll, h help.\n"
	"Exit status: 0 all is well, or q; 1 something is wrong, 2 usage.\n";

static void top_sleep(double s)
{
	struct timespec t = { (time_t) s, (long) ((s - floor(s)) * 1e9) };

	while (nanosleep(&t, &t))
		;
}

#ifndef TOP_HAS_SCREEN
#define TOP_HAS_SCREEN 0
#endif

/* The screen, as it goes on. */
static int top_go_on(struct top_known *k, double delay)
{
#if TOP_HAS_SCREEN
	return top_screen(k, delay);
#else
	(void) k;
	(void) delay;
	return SHOW_USAGE;
#endif
}

/* False: there is no screen to go on with, which was said. */
static bool top_has_screen(void)
{
#if TOP_HAS_SCREEN
	return top_screen_fits();
#else
	fputs("storm: top is built without libncursesw: storm top --once prints one screen\n",
	      stderr);
	return false;
#endif
}

/* Print what is known.  Nobody else uses it. */
static int top_print(const struct top_known *k, double delay, bool json)
{
	struct top_text text = { .columns = show_columns() };
	time_t now = time(NULL);
	struct top_view v;
	char when[32] = "";
	struct tm tm;
	bool fine;

	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	v = top_view_of(k, delay, when);
	if (json) {
		fine = top_json(stdout, &v);
	} else {
		top_layout(&v, &text);
		for (uint32_t i = 0; i < text.count; i++)
			puts(text.line[i].text);
		fine = !text.failed;
	}
	top_text_clear(&text);
	if (!fine)
		fputs("storm: out of memory\n", stderr);
	return !fine || top_is_wrong(&v) ? SHOW_WRONG : SHOW_FINE;
}

static int top_once(struct top_known *k, double delay, bool twice, bool json)
{
	top_ask_agents(k);
	if (twice) {
		top_sleep(delay);
		top_ask_agents(k);
	}
	top_ask_jobs(k);
	return top_print(k, delay, json);
}

/* False: it is no delay, which was said. */
static bool top_delay(const char *text, double *delay)
{
	char *end;

	*delay = text ? strtod(text, &end) : DELAY;
	if (!text || (end != text && !*end && *delay >= DELAY_LEAST &&
		      *delay <= DELAY_MOST))
		return true;
	fprintf(stderr,
		"storm: top: -d %s is no number of seconds from %g to %g\n",
		text, DELAY_LEAST, DELAY_MOST);
	return false;
}

int main(int argc, char **argv)
{
	struct top_known known;
	struct show_options o;
	double delay;
	int code;

	if (!show_options(argc, argv, "w:d:1Vh", usage, &o, &code))
		return code;
	if (!show_no_argument(argc, argv, "top"))
		return SHOW_USAGE;
	if (!top_delay(o.delay, &delay))
		return SHOW_USAGE;
	if (!o.once && !o.json && !top_has_screen())
		return SHOW_USAGE;
	if (!top_known_init(&known, o.list))
		return SHOW_WRONG;
	code = o.once || o.json ? top_once(&known, delay, o.delay, o.json) :
				  top_go_on(&known, delay);
	top_known_fini(&known);
	return code;
}
