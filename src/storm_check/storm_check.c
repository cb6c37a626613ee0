/*
 * storm_check.c - check storm.conf and what STORM needs on this host and between
 * hosts.  It needs nothing of Slurm, as it looks for what keeps Slurm's programs
 * from running.  storm_check_nodes, which uses Slurm's library, asks the agents.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <getopt.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check_health.h"
#include "check_host.h"
#include "check_job.h"
#include "check_plugins.h"
#include "check_rdma.h"
#include "check_run.h"
#include "check_slurm.h"
#include "check_tell.h"
#include "src/storm_common/conf_read.h"

enum { FINE = 0, LACKS = 1, USAGE = 2 };

static const char usage[] =
	"Usage: storm check [OPTIONS]\n"
	"Check storm.conf, and what STORM for Slurm needs on this host.\n"
	"\n"
	"  -c, --conf=FILE       storm.conf [beside slurm.conf]\n"
	"  -w, --nodelist=NODES  ask the agents of these nodes, too, and prove the network\n"
	"                        from here to them and back, whatever state they are in\n"
	"  -j, --job             with -w: run the check on these nodes, by a short job\n"
	"  -q, --quiet           print only what is missing\n"
	"      --verbs           only what Transport=verbs needs, whatever storm.conf has\n"
	"  -d, --device=NAME[:PORT], -r, --root=DIR\n"
	"                        with --verbs: this adapter, and the system below DIR\n"
	"  -h, --help            print this summary\n"
	"\n"
	"Exit status: 0 nothing is missing, 1 something is, 2 it could not check.\n";

struct check_options {
	const char *conf, *nodes, *root;
	const char *rail[RDMA_RAILS];
	size_t rails;
	bool job, quiet, verbs, report;
};

/* ------------------------------------------------------------------ storm.conf --- */

static bool conf_is_bad;
static bool conf_is_wrong; /* none of its lines counts */
static char *conf_lines;   /* to be written in place of an old form, or NULL */
static bool conf_far; /* another host reads what is told, and not the lines */

/* The lines are printed behind all else, whole, so that they can be copied. */
static void check_conf_old(const char *text)
{
	size_t first = strcspn(text, "\n");

	if (text[first])
		conf_lines = strdup(text + first + 1);
	check_tell(CHECK_NOTE, "", "%.*s%s", (int) first, text,
		   !conf_lines ? "" :
		   conf_far    ? " the lines that 'storm check' prints there" :
				 " the lines below");
}

/* "FILE:LINE: what is allowed" reads as a remedy.  An unknown key has no effect, so
 * what was meant is not set. */
static void check_conf_fault(void *arg, enum conf_fault kind, const char *text)
{
	const char *allowed = strstr(text, ", allowed: ");

	(void) arg;
	if (kind == CONF_OLD) {
		check_conf_old(text);
		return;
	}
	if (kind == CONF_WARNING && !strstr(text, ": unknown key ")) {
		check_tell(CHECK_NOTE, "", "%s", text);
		return;
	}
	conf_is_bad = true;
	if (allowed)
		check_tell(CHECK_MISSING, "", "%.*s: set %s",
			   (int) (allowed - text), text,
			   allowed + strlen(", allowed: "));
	else if (strstr(text, " found '"))
		check_tell(CHECK_MISSING, "", "%s: correct the line", text);
	else
		check_tell(CHECK_MISSING, "", "%s", text);
}

/* A value that is not given has its default. */
static void check_conf_read(const char *given, struct storm_conf *conf)
{
	char *beside = given ? NULL : slurm_file_beside("storm.conf");
	char *plugstack = slurm_plugstack_path();
	const char *path = given ? given : beside;
	const struct conf_sources from = {
		.path = path && !access(path, F_OK) ? path : NULL,
		.plugstack = plugstack,
	};

	if (!from.path)
		check_tell(
			CHECK_NOTE, "",
			"%s is not there: every key has its default, which suits a LAN",
			path ? path : "storm.conf");
	storm_conf_default(conf);
	conf_is_wrong = !conf_read(&from, conf, NULL, check_conf_fault, NULL);
	if (from.path && !conf_is_bad)
		check_tell(CHECK_OK, "", "%s: no fault", path);
	free(beside);
	free(plugstack);
}

/* ------------------------------------------------------------------------ verbs --- */

/* NAME or NAME:PORT; "": none. */
static size_t check_rail(char (*out)[2 * RDMA_NAME], const char *device,
			 unsigned int port)
{
	if (port)
		snprintf(*out, sizeof(*out), "%s:%u", device, port);
	else
		snprintf(*out, sizeof(*out), "%s", device);
	return **out != '\0';
}

/* The system below root. */
static void check_verbs(const struct check_options *o, const char *root,
			const char *path, const struct storm_conf *conf)
{
	static struct rdma_host host; /* large */
	char text[2][2 * RDMA_NAME];
	const char *rail[] = { text[0], text[1] };
	size_t n;

	n = check_rail(&text[0], conf->set.device, conf->set.ib_port);
	n += check_rail(&text[n], conf->set.strobe_device,
			conf->set.strobe_ib_port);
	host.conf = path;
	host.conf_there = !access(path, R_OK);
	host.conf_wrong = conf_is_wrong;
	rdma_host_read(&host, root, o->rails ? o->rail : rail,
		       o->rails ? o->rails : n, &conf->set);
	rdma_judge(&host, &conf->set);
}

static void check_verbs_here(const struct check_options *o,
			     const struct storm_conf *conf)
{
	const char *given = o->conf;
	char *beside = given ? NULL : slurm_file_beside("storm.conf");

	check_verbs(o, "",
		    given  ? given :
		    beside ? beside :
			     "storm.conf",
		    conf);
	free(beside);
}

/* ---------------------------------------------------------------- other programs --- */

static char check_place[IF_NAMESIZE]; /* the interface; "": not known */

static void check_nodes_line(char *line)
{
	static const char place[] = "@interface\t";

	if (strncmp(line, place, strlen(place))) {
		(void) check_tell_line(line);
		return;
	}
	line += strlen(place);
	snprintf(check_place, sizeof(check_place), "%.*s",
		 (int) strcspn(line, "\n"), line);
}

/* What Slurm's library is needed for: this node's address, and the agents. */
static void check_by_slurm(const struct check_options *o, bool slurm_runs)
{
	const char *argv[] = { PKGLIBEXECDIR "/storm_check_nodes",
			       o->report ? "-" :
			       o->nodes	 ? o->nodes :
					   "",
			       o->conf, NULL };
	char last[512];
	int rc;

	if (!slurm_runs) {
		if (o->nodes)
			check_tell(
				CHECK_MISSING, "",
				"%s: not asked, as Slurm's programs do not run here: mend what is missing, or run storm check on each node by hand",
				o->nodes);
		return;
	}
	rc = check_run(argv, check_nodes_line, last, sizeof(last));
	/* a cause may be told already */
	if (rc && (o->nodes || !check_tell_missing()))
		check_tell(
			CHECK_MISSING, "",
			"Slurm's library does not do here: %s: mend that, or run storm check on each node by hand",
			*last ? last : "it gives no reason");
}

/* ---------------------------------------------------------------------- options --- */

static bool check_options_read(struct check_options *o, int argc, char **argv)
{
	static const struct option options[] = {
		{ "conf", required_argument, NULL, 'c' },
		{ "nodelist", required_argument, NULL, 'w' },
		{ "job", no_argument, NULL, 'j' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbs", no_argument, NULL, 'V' },
		{ "report", no_argument, NULL, 'R' }, /* what the job runs */
		{ "device", required_argument, NULL, 'd' },
		{ "root", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "c:w:jqd:r:h", options, NULL)) >= 0)
		switch (c) {
		case 'c':
			o->conf = optarg;
			break;
		case 'w':
			o->nodes = optarg;
			break;
		case 'j':
			o->job = true;
			break;
		case 'q':
			o->quiet = true;
			break;
		case 'V':
			o->verbs = true;
			break;
		case 'R':
			o->report = true;
			break;
		case 'd':
			if (o->rails == RDMA_RAILS)
				return false;
			o->rail[o->rails++] = optarg;
			break;
		case 'r':
			o->root = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(FINE);
		default:
			return false;
		}
	return optind == argc &&
	       (o->verbs ? !o->nodes : !o->rails && !o->root) &&
	       (!o->job || o->nodes);
}

static int check_end(const struct check_options *o)
{
	bool lacks = check_tell_all(stdout, o->quiet);

	if (conf_lines && !o->quiet)
		puts(conf_lines);
	free(conf_lines);
	return lacks ? LACKS : FINE;
}

/* storm_check --verbs: of an image, too, whose Slurm does not run. */
static int check_verbs_alone(const struct check_options *o,
			     struct storm_conf *conf)
{
	const char *root = o->root && strcmp(o->root, "/") ? o->root : "";
	const char *slurm = *root ? NULL : slurm_file_find();
	const char *slash = slurm ? strrchr(slurm, '/') : NULL;
	struct conf_sources from = { 0 };
	char sys[PATH_MAX], path[PATH_MAX], *plugstack = NULL;

	snprintf(sys, sizeof(sys), "%s/sys", root);
	if (access(sys, F_OK)) {
		fprintf(stderr, "storm check: %s has no sys directory\n",
			*root ? root : "/");
		fputs(usage, stderr);
		return USAGE;
	}
	if (o->conf)
		snprintf(path, sizeof(path), "%s", o->conf);
	else if (slash)
		snprintf(path, sizeof(path), "%.*s/storm.conf",
			 (int) (slash - slurm), slurm);
	else
		snprintf(path, sizeof(path), "%s/etc/slurm/storm.conf", root);
	if (!access(path, R_OK))
		from.path = path;
	if (slurm && slurm_file_read())
		from.plugstack = plugstack = slurm_plugstack_path();
	storm_conf_default(conf);
	conf_is_wrong = !conf_read(&from, conf, NULL, check_conf_fault, NULL);
	check_verbs(o, root, path, conf);
	free(plugstack);
	return check_end(o);
}

int main(int argc, char **argv)
{
	static struct storm_conf conf; /* large */
	struct check_options o = { 0 };
	bool slurm_runs;

	if (!check_options_read(&o, argc, argv)) {
		fputs(usage, stderr);
		return USAGE;
	}
	if (o.verbs)
		return check_verbs_alone(&o, &conf);
	if (o.conf && access(o.conf, R_OK)) {
		fprintf(stderr, "storm check: %s is not there\n", o.conf);
		return USAGE;
	}
	conf_far = o.report;
	slurm_runs = slurm_file_read();
	check_conf_read(o.conf, &conf);
	if (slurm_runs) {
		slurm_runs = check_plugins();
		check_types();
	}
	check_host(&conf);
	check_health(&conf.health);
	if (conf.set.transport == STORM_TRANSPORT_VERBS)
		check_verbs_here(&o, &conf);
	check_by_slurm(&o, slurm_runs);
	check_host_interface(&conf.set, check_place);
	if (o.report) {
		check_job_report(&conf);
		return FINE;
	}
	if (o.job && slurm_runs)
		check_job(o.nodes, &conf);
	return check_end(&o);
}
