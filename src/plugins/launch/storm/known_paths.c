/*
 * known_paths.c - see known_paths.h.
 *
 * The file is the user's, in a directory of the user's that nobody else can write:
 * what one user says is bad is so for that user alone.  Each line is an end of a path:
 *
 *	since why sys port node from
 *
 * since: s, realtime; from: the node at the other end, "-" for this host.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/common/slurm_xlator.h"

#include "src/common/hostlist.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "known_paths.h"
#include "src/storm_common/whole_file.h"

#define NAME "paths"
#define KNOWN_FOR 180 /* s */
#define KNOWN_MAX 256
#define CHECK_EVERY 5 /* s */

struct known_list {
	long checked; /* s, realtime */
	uint32_t count;
	struct known_path k[KNOWN_MAX];
};

/* False: there is none, or another user may have written there. */
static bool known_directory(char *dir, size_t size)
{
	struct stat st;

	snprintf(dir, size, "/tmp/slurm-storm-%u", (unsigned int) geteuid());
	return !lstat(dir, &st) && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid() && !(st.st_mode & 077);
}

static bool known_line(const char *line, long now, struct known_path *k)
{
	return sscanf(line, "%ld %d %d %u %255s %255s", &k->since, &k->why,
		      &k->sys, &k->port, k->node, k->from) == 6 &&
	       k->since >= 0 && k->since <= now && now - k->since < KNOWN_FOR &&
	       (k->why == STORM_ELOST || k->why == STORM_ETOOBIG ||
		k->why == STORM_ETIME);
}

/* Those that are not too old. */
static struct known_list *known_load(const char *dir)
{
	struct known_list *l = xmalloc(sizeof(*l));
	const size_t room = KNOWN_MAX * 600;
	char *text = xmalloc(room), *line, *save = NULL;
	ssize_t n = whole_file_read(dir, NAME, text, room - 1);
	long now = (long) time(NULL);

	if (n > 0 && (line = strtok_r(text, "\n", &save))) {
		l->checked = atol(line);
		while (l->count < KNOWN_MAX &&
		       (line = strtok_r(NULL, "\n", &save)))
			l->count += known_line(line, now, &l->k[l->count]);
	}
	xfree(text);
	return l;
}

static void known_save(const char *dir, const struct known_list *l)
{
	char *text = xstrdup_printf("%ld\n", l->checked);

	for (uint32_t i = 0; i < l->count; i++)
		xstrfmtcat(text, "%ld %d %d %u %s %s\n", l->k[i].since,
			   l->k[i].why, l->k[i].sys, l->k[i].port, l->k[i].node,
			   l->k[i].from);
	if (l->count)
		whole_file_write(dir, NAME, text, strlen(text));
	else
		whole_file_remove(dir, NAME);
	xfree(text);
}

uint32_t known_paths_load(struct known_path **out)
{
	struct known_list *l;
	uint32_t n = 0;
	char dir[64];

	*out = NULL;
	if (!known_directory(dir, sizeof(dir)))
		return 0;
	l = known_load(dir);
	if (l->count) {
		n = l->count;
		*out = xcalloc(n, sizeof(**out));
		memcpy(*out, l->k, n * sizeof(**out));
	}
	xfree(l);
	return n;
}

void known_paths_add(const struct known_path *k, uint32_t count)
{
	struct known_list *l;
	char dir[64];

	if (!count)
		return;
	snprintf(dir, sizeof(dir), "/tmp/slurm-storm-%u",
		 (unsigned int) geteuid());
	(void) mkdir(dir, 0700);
	if (!known_directory(dir, sizeof(dir)))
		return;
	l = known_load(dir);
	for (uint32_t i = 0; i < count && l->count < KNOWN_MAX; i++)
		l->k[l->count++] = k[i];
	l->checked = (long) time(NULL);
	known_save(dir, l);
	xfree(l);
}

/* A clock that was set back makes it due. */
static bool known_is_due(const struct known_list *l, long now)
{
	return now < l->checked || now >= l->checked + CHECK_EVERY;
}

bool known_paths_certain(void)
{
	struct known_list *l;
	char dir[64];
	bool certain;

	if (!known_directory(dir, sizeof(dir)))
		return false;
	l = known_load(dir);
	certain = l->count && !known_is_due(l, (long) time(NULL));
	xfree(l);
	return certain;
}

bool known_paths_take_check(void)
{
	long now = (long) time(NULL);
	struct known_list *l;
	char dir[64];
	bool due;

	if (!known_directory(dir, sizeof(dir)))
		return false;
	l = known_load(dir);
	due = known_is_due(l, now);
	if (due) {
		l->checked = now;
		known_save(dir, l);
	}
	xfree(l);
	return due;
}

void known_paths_forget(const char *nodelist)
{
	struct hostlist *hl = hostlist_create(nodelist);
	struct known_list *l;
	uint32_t n = 0;
	char dir[64];

	if (!hl || !known_directory(dir, sizeof(dir)))
		goto out;
	l = known_load(dir);
	for (uint32_t i = 0; i < l->count; i++)
		if (hostlist_find(hl, l->k[i].node) < 0)
			l->k[n++] = l->k[i];
	l->count = n;
	known_save(dir, l);
	xfree(l);
out:
	if (hl)
		hostlist_destroy(hl);
}
