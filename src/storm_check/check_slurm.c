/*
 * check_slurm.c - see check_slurm.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "check_slurm.h"
#include "check_tell.h"

#define DEPTH 8 /* of files that include files */
#define BLANKS " \t\r\n"

struct slurm_key {
	struct slurm_key *next;
	char *key, *value;
};

static struct {
	char *path;
	struct slurm_key *keys; /* the last one first */
	bool shares;
} slurm;

static void slurm_key_add(const char *key, const char *value)
{
	struct slurm_key *k = calloc(1, sizeof(*k));

	if (!k)
		return;
	k->key = strdup(key);
	k->value = strdup(value);
	k->next = slurm.keys;
	slurm.keys = k;
}

/* A path as in the file `from`: relative to its directory.  The caller frees it. */
static char *slurm_path_from(const char *from, const char *path)
{
	const char *slash = strrchr(from, '/');
	char *out = NULL;

	if (*path == '/' || !slash)
		return strdup(path);
	return asprintf(&out, "%.*s/%s", (int) (slash - from), from, path) < 0 ?
		       NULL :
		       out;
}

/* Words of a line: KEY=VALUE, with blanks around the sign or quotes around the
 * value. */
static void slurm_line_keys(char *line)
{
	bool first = true, partition = false, node = false;
	char *at = line;

	for (;;) {
		size_t n = strcspn(at += strspn(at, BLANKS), "=" BLANKS);
		char *key = at, *value = at + n + strspn(at + n, BLANKS);
		size_t len;

		if (!n || *value != '=')
			return;
		value += 1 + strspn(value + 1, BLANKS);
		if (*value == '"')
			len = strcspn(++value, "\"");
		else
			len = strcspn(value, BLANKS);
		at = value + len + (value[len] != '\0');
		key[n] = value[len] = '\0';
		if (first) {
			partition = !strcasecmp(key, "PartitionName");
			node = !strcasecmp(key, "NodeName") ||
			       !strcasecmp(key, "DownNodes");
			first = false;
		}
		if (partition && !strcasecmp(key, "OverSubscribe"))
			slurm.shares |= !strncasecmp(value, "FORCE", 5) ||
					!strncasecmp(value, "YES", 3);
		if (!partition && !node)
			slurm_key_add(key, value);
	}
}

static void slurm_lines_read(const char *path, int depth)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	while (f && getline(&line, &room, f) >= 0) {
		char *at = line + strspn(line, BLANKS), *more;

		line[strcspn(line, "#")] = '\0';
		if (strncasecmp(at, "include", 7) || !strchr(" \t", at[7])) {
			slurm_line_keys(at);
			continue;
		}
		at += 8 + strspn(at + 8, BLANKS);
		at[strcspn(at, BLANKS)] = '\0';
		more = slurm_path_from(path, at);
		if (more && depth < DEPTH)
			slurm_lines_read(more, depth + 1);
		free(more);
	}
	free(line);
	if (f)
		fclose(f);
}

const char *slurm_file_find(void)
{
	const char *const known[] = { getenv("SLURM_CONF"),
				      "/etc/slurm/slurm.conf",
				      "/run/slurm/conf/slurm.conf",
				      "/etc/slurm-llnl/slurm.conf" };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i] && !access(known[i], R_OK))
			return known[i];
	return NULL;
}

bool slurm_file_read(void)
{
	const char *path = slurm_file_find();

	if (path) {
		slurm.path = strdup(path);
		slurm_lines_read(path, 0);
		return slurm.path;
	}
	check_tell(
		CHECK_MISSING, "",
		"no slurm.conf: neither $SLURM_CONF, /etc/slurm/slurm.conf nor /run/slurm/conf/slurm.conf is there: install Slurm first, or set SLURM_CONF");
	return false;
}

const char *slurm_file_path(void)
{
	return slurm.path;
}

char *slurm_file_beside(const char *name)
{
	return slurm.path ? slurm_path_from(slurm.path, name) : NULL;
}

const char *slurm_file_value(const char *key)
{
	for (const struct slurm_key *k = slurm.keys; k; k = k->next)
		if (k->key && !strcasecmp(k->key, key))
			return k->value;
	return NULL;
}

bool slurm_file_shares(void)
{
	return slurm.shares;
}

/* -------------------------------------------------------------- plugstack.conf --- */

char *slurm_plugstack_path(void)
{
	const char *given = slurm_file_value("PlugStackConfig");
	char *path = given ? strdup(given) :
			     slurm_file_beside("plugstack.conf");

	if (path && !access(path, R_OK))
		return path;
	free(path);
	return NULL;
}

static const char *slurm_plugstack_find(const char *path, const char *plugin,
					int depth);

/* A pattern of files. */
static const char *slurm_plugstack_include(const char *path, const char *what,
					   const char *plugin, int depth)
{
	char *pattern = slurm_path_from(path, what);
	const char *how = NULL;
	glob_t g = { 0 };

	if (pattern && depth < DEPTH && !glob(pattern, 0, NULL, &g))
		for (size_t i = 0; i < g.gl_pathc && !how; i++)
			how = slurm_plugstack_find(g.gl_pathv[i], plugin,
						   depth + 1);
	globfree(&g);
	free(pattern);
	return how;
}

static const char *slurm_plugstack_find(const char *path, const char *plugin,
					int depth)
{
	FILE *f = fopen(path, "re");
	char *line = NULL, *rest;
	const char *how = NULL;
	size_t room = 0;

	while (f && !how && getline(&line, &room, f) >= 0) {
		char *verb = strtok_r(line, BLANKS, &rest), *what, *base;

		what = verb ? strtok_r(NULL, BLANKS, &rest) : NULL;
		if (!what)
			continue;
		base = strrchr(what, '/');
		if (!strcmp(verb, "include"))
			how = slurm_plugstack_include(path, what, plugin,
						      depth);
		else if (strcmp(base ? base + 1 : what, plugin))
			continue;
		else if (!strcmp(verb, "optional"))
			how = "optional";
		else if (!strcmp(verb, "required"))
			how = "required";
	}
	free(line);
	if (f)
		fclose(f);
	return how;
}

const char *slurm_plugstack_loads(const char *path, const char *plugin)
{
	return slurm_plugstack_find(path, plugin, 0);
}
