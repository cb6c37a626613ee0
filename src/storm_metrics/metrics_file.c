/*
 * metrics_file.c - see metrics_file.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metrics_count.h"
#include "metrics_file.h"
#include "metrics_text.h"
#include "src/storm_common/whole_file.h"

/* Where the file is. */
struct metrics_place {
	char dir[PATH_MAX], name[NAME_MAX];
};

static bool metrics_file_place(const char *path, struct metrics_place *out)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	int len = slash ? (int) (slash - path) : 0;

	snprintf(out->name, sizeof(out->name), "%s", name);
	snprintf(out->dir, sizeof(out->dir), "%.*s", len, path);
	if (!len)
		snprintf(out->dir, sizeof(out->dir), "%s", slash ? "/" : ".");
	/* room for a dot before, and for what is behind */
	return *name && strlen(name) < NAME_MAX - 32 &&
	       len < PATH_MAX - NAME_MAX;
}

/* Its readers see a whole file.  0, or an errno. */
static int metrics_file_put(const struct metrics_place *at,
			    const struct metrics_shown *s)
{
	char path[PATH_MAX + NAME_MAX + 2], new[PATH_MAX + NAME_MAX + 32];
	FILE *f;
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", at->dir, at->name);
	/* another one that runs has its own; no name ends in .prom */
	snprintf(new, sizeof(new), "%s/.%s.%d", at->dir, at->name,
		 (int) getpid());
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  0600);
	if (fd < 0)
		return errno;
	f = fdopen(fd, "w");
	if (!f) {
		err = errno;
		close(fd);
		unlink(new);
		return err;
	}
	metrics_text(f, s, METRICS_PLAIN);
	err = fflush(f) || fchmod(fd, 0644) ? errno : 0;
	if (fclose(f) && !err)
		err = errno;
	if (!err && rename(new, path))
		err = errno;
	if (err)
		unlink(new);
	return err;
}

static void metrics_file_load(const struct metrics_place *at, const char *state,
			      struct metrics_count *out)
{
	char *text;
	size_t len;
	int err = whole_file_load(at->dir, state, &text, &len);

	*out = (struct metrics_count) { 0 };
	if (!err) {
		if (!metrics_count_read(text, out))
			err = EBADMSG;
		free(text);
	}
	if (err && err != ENOENT)
		fprintf(stderr,
			"storm: %s/%s: %s: counters begin with 0 again\n",
			at->dir, state, strerror(err));
}

bool metrics_file_write(const char *path, const struct metrics *m, char *names)
{
	struct metrics_shown shown;
	char state[NAME_MAX + 16], *text;
	struct metrics_place at;
	struct metrics_count c;
	int err;

	if (!metrics_file_place(path, &at)) {
		fprintf(stderr, "storm: %s: give the path of a file\n", path);
		free(names);
		return false;
	}
	snprintf(state, sizeof(state), ".%s.state", at.name);
	metrics_file_load(&at, state, &c);
	metrics_count_add(&c, m, names);
	shown = metrics_count_shown(&c, m);
	/* The state first: were it lost, a later total could be below one that was
	 * shown. */
	text = metrics_count_text(&c);
	err = !text ? ENOMEM :
		      whole_file_save(at.dir, state, text, strlen(text));
	free(text);
	if (!err)
		err = metrics_file_put(&at, &shown);
	metrics_count_clear(&c);
	if (err)
		fprintf(stderr,
			"storm: %s: %s: this user must be able to write its directory\n",
			path, strerror(err));
	return !err;
}
