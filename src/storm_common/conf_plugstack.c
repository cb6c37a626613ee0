/*
 * conf_plugstack.c - see conf_plugstack.h, and plugstack.conf in spank(8).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_plugstack.h"
#include "conf_text.h"

#define PLUGIN "spank_storm.so"
#define BLANKS " \t\n"
#define DEPTH_MAX 8 /* a file may include itself */

static void plugstack_read_file(const char *path, unsigned int depth,
				const struct conf_file_calls *calls);

static void plugstack_argument(char *arg, const char *place,
			       const struct conf_file_calls *calls)
{
	char *value = strchr(arg, '='), *why;

	if (value && value > arg && value[1]) {
		*value++ = '\0';
		calls->key_found(calls->arg, place, arg, value);
		return;
	}
	why = conf_text_make(
		"%s: '%.60s' is an argument of spank_storm.so, but not Key=Value: write it so, without blanks, or remove it",
		place, arg);
	calls->wrong(calls->arg, why);
	free(why);
}

static void plugstack_include(const char *from, const char *pattern,
			      unsigned int depth,
			      const struct conf_file_calls *calls)
{
	const char *slash = strrchr(from, '/');
	int dir = *pattern != '/' && slash ? (int) (slash - from) + 1 : 0;
	char *whole = conf_text_make("%.*s%s", dir, from, pattern);
	glob_t found;

	if (!glob(whole, 0, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			plugstack_read_file(found.gl_pathv[i], depth + 1,
					    calls);
		globfree(&found);
	}
	free(whole);
}

static bool plugstack_names_us(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(slash ? slash + 1 : path, PLUGIN);
}

static void plugstack_line(char *line, const char *path, unsigned int number,
			   unsigned int depth,
			   const struct conf_file_calls *calls)
{
	char *save, *verb, *plugin, *arg, *place;

	line[strcspn(line, "#")] = '\0';
	verb = strtok_r(line, BLANKS, &save);
	plugin = verb ? strtok_r(NULL, BLANKS, &save) : NULL;
	if (!plugin)
		return;
	if (!strcmp(verb, "include")) {
		plugstack_include(path, plugin, depth, calls);
		return;
	}
	if (!plugstack_names_us(plugin))
		return;
	place = conf_text_make("%s:%u", path, number);
	while ((arg = strtok_r(NULL, BLANKS, &save)))
		plugstack_argument(arg, place, calls);
	free(place);
}

static void plugstack_read_file(const char *path, unsigned int depth,
				const struct conf_file_calls *calls)
{
	unsigned int number = 0;
	char *line = NULL;
	size_t size = 0;
	FILE *f = depth < DEPTH_MAX ? fopen(path, "re") : NULL;

	if (!f)
		return;
	while (getline(&line, &size, f) >= 0)
		plugstack_line(line, path, ++number, depth, calls);
	free(line);
	fclose(f);
}

void conf_plugstack_read(const char *path, const struct conf_file_calls *calls)
{
	plugstack_read_file(path, 0, calls);
}
