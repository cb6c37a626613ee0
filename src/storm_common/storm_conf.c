/*
 * storm_conf.c - storm.conf as Slurm's programs read it: see storm_conf.h.
 * conf_read.c judges it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/run_in_daemon.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "conf_read.h"
#include "storm_conf.h"
#include "whole_file.h"

#define KEPT "storm_conf" /* the last good keys, in a daemon's directory */

struct conf_told {
	bool log;    /* warnings */
	char *first; /* error */
	unsigned int errors;
};

static void conf_told_fault(void *arg, enum conf_fault kind, const char *text)
{
	struct conf_told *t = arg;

	if (kind == CONF_OLD) {
		/* once in the cluster: partitions are slurmctld's */
		if (t->log && running_in_slurmctld())
			info("warning: storm: %s", text);
	} else if (kind == CONF_WARNING && t->log)
		info("warning: storm: %s", text);
	else if (kind == CONF_WARNING)
		debug("storm: %s", text);
	else if (!t->errors++)
		t->first = xstrdup(text);
}

/* slurmd's main thread frees it when it reads slurm.conf again, and the thread that
 * watches the agent does not wait for that.  Elsewhere one thread does both, and the lock
 * would have Slurm read a slurm.conf that nobody wants. */
static char *conf_copy(char *const *from)
{
	bool locks = running_in_slurmd();
	char *copy;

	if (locks)
		slurm_conf_lock();
	copy = xstrdup(*from);
	if (locks)
		slurm_conf_unlock();
	return copy;
}

/* The one that SPANK reads. */
static char *conf_plugstack_path(void)
{
	char *path = conf_copy(&slurm_conf.plugstack);

	return path ? path : get_extra_conf_path("plugstack.conf");
}

static int conf_judge(const struct conf_sources *from, struct storm_conf *out,
		      char **lines, bool log, char **error)
{
	struct conf_told t = { .log = log };

	if (conf_read(from, out, lines, conf_told_fault, &t))
		return SLURM_SUCCESS;
	if (t.errors > 1)
		xstrfmtcat(t.first, " (and %u more: storm check lists them)",
			   t.errors - 1);
	*error = t.first;
	return SLURM_ERROR;
}

int storm_conf_load_file(const char *path, struct storm_conf *out, char **error)
{
	const struct conf_sources from = { .path = path };

	return conf_judge(&from, out, NULL, false, error);
}

/* In the directory of the slurm.conf that this process has read. */
static char *conf_path(void)
{
	char *path = conf_copy(&slurm_conf.slurm_conf), *slash;

	if (!path)
		return get_extra_conf_path("storm.conf");
	slash = strrchr(path, '/');
	if (slash)
		slash[1] = '\0';
	else
		path[0] = '\0';
	xstrcat(path, "storm.conf");
	return path;
}

/* The same files twice, at a daemon's start for example, are one message. */
static bool conf_is_new(void)
{
	static char logged[STORM_CONF_STAMP_MAX];
	char now[STORM_CONF_STAMP_MAX];

	storm_conf_stamp(&now);
	if (!strcmp(logged, now))
		return false;
	strcpy(logged, now);
	return true;
}

static int conf_load(struct storm_conf *out, char **lines, bool log,
		     char **error)
{
	char *path = conf_path(), *plugstack = conf_plugstack_path();
	struct conf_sources from = { .plugstack = plugstack };
	int rc;

	if (!access(path, F_OK) || errno != ENOENT)
		from.path = path;
	rc = conf_judge(&from, out, lines, log, error);
	xfree(path);
	xfree(plugstack);
	return rc;
}

int storm_conf_load(struct storm_conf *out, char **error)
{
	return conf_load(out, NULL, false, error);
}

/* --------------------------------------------------- the last good file --- */

enum storm_conf_state storm_conf_load_kept(const char *dir,
					   struct storm_conf *out, char **lines,
					   char **error)
{
	struct conf_sources from = { .path = KEPT };
	char *kept, *why = NULL;
	bool good;
	size_t len;

	*error = NULL;
	if (lines)
		*lines = NULL;
	if (!conf_load(out, lines, lines && conf_is_new(), error))
		return STORM_CONF_GOOD;
	if (whole_file_load(dir, KEPT, &kept, &len))
		return STORM_CONF_NONE;
	from.text = kept;
	good = !conf_judge(&from, out, NULL, false, &why);
	xfree(why); /* of an older build: the present file's error counts */
	free(kept);
	return good ? STORM_CONF_KEPT : STORM_CONF_NONE;
}

void storm_conf_keep(const char *dir, char *lines)
{
	int err = lines ? whole_file_save(dir, KEPT, lines, strlen(lines)) : 0;

	if (err)
		info("warning: storm: cannot keep a copy of storm.conf in %s: %s: a wrong line would count at the next start",
		     dir, strerror(err));
	free(lines);
}

/* ------------------------------------------------------------ the stamp --- */

static void conf_stamp_file(char **text, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		memset(&st, 0, sizeof(st));
	xstrfmtcat(*text, "%lld.%09ld-%lld ", (long long) st.st_mtim.tv_sec,
		   st.st_mtim.tv_nsec, (long long) st.st_size);
}

void storm_conf_stamp(char (*out)[STORM_CONF_STAMP_MAX])
{
	char *path = conf_path(), *plugstack = conf_plugstack_path();
	char *sched = conf_copy(&slurm_conf.schedtype), *text = NULL;

	conf_stamp_file(&text, path);
	conf_stamp_file(&text, plugstack);
	snprintf(*out, sizeof(*out), "%s%s", text, sched ? sched : "");
	xfree(sched);
	xfree(text);
	xfree(path);
	xfree(plugstack);
}
