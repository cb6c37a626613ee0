/*
 * check_plugins.c - see check_plugins.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "check_image.h"
#include "check_plugins.h"
#include "check_slurm.h"
#include "check_tell.h"

#define DIRS 16
#define OURS 12
#define TEXT 256
#define TOLD_NAMES 512
#define SINCE_24_11 "22."

static struct {
	char *dir[DIRS]; /* of PluginDir */
	int dirs;
	bool broken;	       /* one of them is not there */
	char version[TEXT];    /* of Slurm's own plugins; "": not known */
	char ours[OURS][1024]; /* that fit by their version */
	int n;
} plugins;

static void plugins_add_dir(const char *path)
{
	if (plugins.dirs < DIRS)
		plugins.dir[plugins.dirs++] = strdup(path);
}

/* Where Slurm has its plugins if slurm.conf does not say so. */
static void plugins_guess_dirs(void)
{
	static const char *const known[] = {
		"/usr/lib/*-linux-gnu/slurm-wlm", "/usr/lib/*-linux-gnu/slurm",
		"/usr/lib64/slurm", "/usr/lib/slurm", "/usr/local/lib/slurm"
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		glob_t g = { 0 };

		if (!glob(known[i], 0, NULL, &g))
			for (size_t j = 0; j < g.gl_pathc; j++)
				plugins_add_dir(g.gl_pathv[j]);
		globfree(&g);
	}
}

static void plugins_read_dirs(void)
{
	const char *given = slurm_file_value("PluginDir");
	char *copy = given ? strdup(given) : NULL, *rest, *dir;

	if (!copy) {
		plugins_guess_dirs();
		return;
	}
	for (dir = strtok_r(copy, ":", &rest); dir;
	     dir = strtok_r(NULL, ":", &rest)) {
		plugins_add_dir(dir);
		if (!access(dir, X_OK))
			continue;
		plugins.broken = true;
		check_tell(
			CHECK_MISSING, "",
			"PluginDir in %s names %s, which is not there: no program of Slurm runs on this host: install STORM there, or take it out of PluginDir",
			slurm_file_path(), dir);
	}
	free(copy);
}

/* Its path, by PluginDir. */
static bool plugins_find(const char *name, char *path, size_t size)
{
	for (int i = 0; i < plugins.dirs; i++) {
		snprintf(path, size, "%s/%s", plugins.dir[i], name);
		if (!access(path, F_OK))
			return true;
	}
	return false;
}

/* The version of Slurm's own plugins. */
static void plugins_read_version(void)
{
	static const char *const own[] = { "auth_munge.so", "auth_slurm.so",
					   "auth_none.so" };
	char path[1024];

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (plugins_find(own[i], path, sizeof(path)) &&
		    !image_plugin_version(path, plugins.version,
					  sizeof(plugins.version)))
			return;
	plugins.version[0] = '\0';
	check_tell(
		CHECK_NOTE, "",
		"the version of Slurm is not known: no plugin of its own was found");
}

static void plugins_tell_absent(const char *name, const char *what)
{
	char dirs[1024] = "";

	if (access(PKGLIBDIR "/spank_storm.so", F_OK)) {
		check_tell(
			CHECK_MISSING, "",
			"%s is in no directory of PluginDir (%s): install STORM on this host",
			name, what);
		return;
	}
	for (int i = 0; i < plugins.dirs; i++)
		snprintf(dirs + strlen(dirs), sizeof(dirs) - strlen(dirs),
			 ":%s", plugins.dir[i]);
	check_tell(
		CHECK_MISSING, "",
		"%s is in no directory of PluginDir (%s): set PluginDir=" PKGLIBDIR
		"%s in slurm.conf, on all hosts",
		name, what, dirs);
}

static void plugins_check_one(const char *name, const char *what)
{
	char path[1024], version[TEXT];

	if (!plugins_find(name, path, sizeof(path)))
		plugins_tell_absent(name, what);
	else if (image_plugin_version(path, version, sizeof(version)))
		check_tell(CHECK_MISSING, "", "%s: %s: install STORM again",
			   path, version);
	else if (*plugins.version && strcmp(version, plugins.version))
		check_tell(
			CHECK_MISSING, "",
			"%s is for Slurm %s, and this is Slurm %s: build and install STORM for %s",
			path, version, plugins.version, plugins.version);
	else if (plugins.n < OURS) {
		snprintf(plugins.ours[plugins.n],
			 sizeof(plugins.ours[plugins.n]), "%s", path);
		plugins.n++;
	}
}

/* A part that srun --launch=storm needs.  A library need not be executable. */
static void plugins_check_part(const char *name)
{
	char path[1024];

	snprintf(path, sizeof(path), PKGLIBEXECDIR "/%s", name);
	if (access(path, R_OK))
		check_tell(
			CHECK_MISSING, "",
			"%s is not there (srun --launch=storm): install STORM for Slurm %s on this host",
			path, plugins.version);
}

static void plugins_compare_build(const char *path, const char *here,
				  char *others, size_t size, char *revision,
				  size_t room)
{
	char built[TEXT], id[TEXT];

	if (image_record(path, built, id, sizeof(id)) || !strcmp(id, here))
		return;
	snprintf(others + strlen(others), size - strlen(others), "%s%s",
		 *others ? ", " : "", path);
	snprintf(revision, room, "%s", built);
}

/* Was what is installed built for the libslurmfull.so here?  If not, it leaves
 * everything to Slurm. */
static void plugins_check_build(void)
{
	char library[1024], here[TEXT], others[TOLD_NAMES] = "", of[TEXT] = "";

	if (!plugins_find("libslurmfull.so", library, sizeof(library)) ||
	    image_build_id(library, here, sizeof(here)))
		return;
	for (int i = 0; i < plugins.n; i++)
		plugins_compare_build(plugins.ours[i], here, others,
				      sizeof(others), of, sizeof(of));
	plugins_compare_build(PKGLIBEXECDIR "/storm_agent", here, others,
			      sizeof(others), of, sizeof(of));
	plugins_compare_build(PKGLIBEXECDIR "/storm_strober", here, others,
			      sizeof(others), of, sizeof(of));
	if (*others)
		check_tell(
			CHECK_MISSING, "",
			"%s is not the one of Slurm %s, which %s was built for: all steps get Slurm's own launch: install STORM for this Slurm, or build it again",
			library, of, others);
	else if (plugins.n)
		check_tell(
			CHECK_OK, "",
			"%d plugins for Slurm %s; %s is the one that STORM was built for",
			plugins.n, plugins.version, library);
}

static void plugins_check_plugstack(void)
{
	char *path = slurm_plugstack_path();
	const char *how = path ? slurm_plugstack_loads(path, "spank_storm.so") :
				 NULL;

	if (!path)
		path = slurm_file_beside("plugstack.conf");
	if (!how)
		check_tell(
			CHECK_MISSING, "",
			"%s does not load spank_storm.so, so srun has no --launch: add the line 'optional spank_storm.so' to it",
			path);
	else if (!strcmp(how, "required"))
		check_tell(
			CHECK_NOTE, "",
			"%s has spank_storm.so as required: a host that lacks it runs no job; optional only takes --launch from it",
			path);
	free(path);
}

bool check_plugins(void)
{
	const char *scheduler = slurm_file_value("SchedulerType");

	plugins_read_dirs();
	plugins_read_version();
	plugins_check_one("spank_storm.so", "srun --launch=storm");
	if (!strncmp(plugins.version, SINCE_24_11, strlen(SINCE_24_11)))
		plugins_check_one("launch_storm.so", "srun --launch=storm");
	else if (*plugins.version)
		plugins_check_part("srun");
	plugins_check_part("launch_module.so");
	plugins_check_one("switch_storm.so", "the agents; network contexts");
	if (scheduler && !strcasecmp(scheduler, "sched/storm"))
		plugins_check_one("sched_storm.so", "gang scheduling");
	plugins_check_build();
	plugins_check_plugstack();
	return !plugins.broken;
}

/* ------------------------------------------------------------- slurm.conf's types --- */

static void types_check_gang(void)
{
	const char *preempt = slurm_file_value("PreemptMode");

	if (preempt && strcasestr(preempt, "GANG"))
		check_tell(
			CHECK_MISSING, "",
			"PreemptMode=%s has GANG, so sched/storm refuses to run and slurmctld ends: take GANG out of PreemptMode in slurm.conf",
			preempt);
	if (!slurm_file_shares())
		check_tell(
			CHECK_NOTE, "",
			"no partition has OverSubscribe=FORCE or YES, so no jobs take turns");
}

static const char *types_or(const char *value, const char *standard)
{
	return value ? value : standard;
}

void check_types(void)
{
	const char *net = slurm_file_value("SwitchType");
	const char *scheduler = slurm_file_value("SchedulerType");
	const char *launch = slurm_file_value("LaunchType");
	bool gang = scheduler && !strcasecmp(scheduler, "sched/storm");
	bool contexts = net && !strcasecmp(net, "switch/storm");

	if (!contexts)
		check_tell(
			CHECK_NOTE, "",
			"SwitchType=%s: steps have no network contexts, and each node reports to srun; set SwitchType=switch/storm and restart all daemons",
			types_or(net, "none"));
	if (gang)
		types_check_gang();
	else
		check_tell(
			CHECK_NOTE, "",
			"SchedulerType=%s: no gang scheduling; for it set SchedulerType=sched/storm",
			types_or(scheduler, "sched/backfill"));
	check_tell(
		CHECK_OK, "", "slurm.conf: SwitchType=%s SchedulerType=%s%s%s",
		types_or(net, "none"), types_or(scheduler, "sched/backfill"),
		strncmp(plugins.version, SINCE_24_11, 3) ? "" : " LaunchType=",
		strncmp(plugins.version, SINCE_24_11, 3) ?
			"" :
			types_or(
				launch,
				"launch/slurm (users choose STORM by --launch=storm)"));
}
