/*
 * strober_state.c - save the cluster domain's epoch and its excluded nodes in
 * StateSaveLocation, which the controllers of a cluster share.  An epoch is
 * saved before it is used, and only in place of the epoch that the owner
 * expects there.  So only one of two owners continues (doc/protocol.md, Domains,
 * owners, epochs).
 *
 * 	storm gang 1
 * 	epoch NUMBER
 * 	excluded NAME		one line for each
 * 	end
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "src/libstorm/storm.h"
#include "strober_state.h"

#define HEAD "storm gang 1\n"

void strober_state_clear(struct strober_saved *s)
{
	for (uint32_t i = 0; i < s->nexcluded; i++)
		free(s->excluded[i]);
	free(s->excluded);
	memset(s, 0, sizeof(*s));
}

static int strober_state_add(struct strober_saved *s, const char *name)
{
	char **p = realloc(s->excluded, (s->nexcluded + 1) * sizeof(*p));

	if (!p)
		return -1;
	s->excluded = p;
	p[s->nexcluded] = strdup(name);
	if (!p[s->nexcluded])
		return -1;
	s->nexcluded++;
	return 0;
}

/* 0, or -1: strober_state_save() has not written this. */
static int strober_state_parse(FILE *f, struct strober_saved *out)
{
	char line[STORM_NAME_MAX + 16], name[STORM_NAME_MAX + 1];

	if (!fgets(line, sizeof(line), f) || strcmp(line, HEAD) ||
	    !fgets(line, sizeof(line), f) ||
	    sscanf(line, "epoch %" SCNu32 "\n", &out->epoch) != 1)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (!strcmp(line, "end\n"))
			return 0;
		if (sscanf(line, "excluded %255s\n", name) != 1 ||
		    strober_state_add(out, name))
			return -1;
	}
	return -1;
}

int strober_state_load(const char *path, struct strober_saved *out)
{
	FILE *f = fopen(path, "re");
	int rc;

	memset(out, 0, sizeof(*out));
	if (!f && errno == ENOENT)
		return 0;
	if (!f) {
		storm_log(STORM_LOG_ERROR, "cannot read %s: %m", path);
		return -1;
	}
	rc = strober_state_parse(f, out);
	fclose(f);
	if (!rc)
		return 0;
	storm_log(
		STORM_LOG_ERROR,
		"%s is damaged: stop slurmctld, remove the file and restart slurmd on all nodes",
		path);
	strober_state_clear(out);
	return -1;
}

static int strober_state_write(int fd, const struct strober_saved *now)
{
	int copy = dup(fd);
	FILE *f = copy < 0 ? NULL : fdopen(copy, "w");
	int rc;

	if (!f) {
		int e = errno;

		if (copy >= 0)
			close(copy);
		errno = e;
		return -1;
	}
	fprintf(f, HEAD "epoch %" PRIu32 "\n", now->epoch);
	for (uint32_t i = 0; i < now->nexcluded; i++)
		fprintf(f, "excluded %s\n", now->excluded[i]);
	fputs("end\n", f);
	rc = ferror(f);
	return fclose(f) || rc || fsync(fd) ? -1 : 0;
}

/* Flush the directory, so that the rename is on disk. */
static int strober_state_sync(const char *path)
{
	char dir[PATH_MAX];
	char *slash;
	int fd, rc;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (!slash)
		return 0;
	slash[1] = '\0';
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	rc = fsync(fd);
	close(fd);
	return rc;
}

static int strober_state_replace(const char *path,
				 const struct strober_saved *now)
{
	char tmp[PATH_MAX];
	int fd, rc;

	if (snprintf(tmp, sizeof(tmp), "%s.new", path) >= (int) sizeof(tmp)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		  0600);
	if (fd < 0)
		return -1;
	rc = strober_state_write(fd, now);
	close(fd);
	if (rc || rename(tmp, path)) {
		int e = errno;

		unlink(tmp);
		errno = e;
		return -1;
	}
	return strober_state_sync(path);
}

static int strober_state_lock(const char *path)
{
	char name[PATH_MAX];
	int fd;

	if (snprintf(name, sizeof(name), "%s.lock", path) >=
	    (int) sizeof(name)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX)) {
		close(fd);
		return -1;
	}
	return fd;
}

int strober_state_save(const char *path, uint32_t was,
		       const struct strober_saved *now)
{
	struct strober_saved there;
	int fd = strober_state_lock(path), rc = -1;

	if (fd < 0) {
		storm_log(STORM_LOG_ERROR, "cannot lock %s.lock: %m", path);
		return -1;
	}
	if (!strober_state_load(path, &there)) {
		if (there.epoch != was)
			storm_log(
				STORM_LOG_ERROR,
				"%s: found epoch %u instead of our %u: another slurmctld of this cluster has taken over",
				path, there.epoch, was);
		else if ((rc = strober_state_replace(path, now)))
			storm_log(STORM_LOG_ERROR, "cannot save %s: %m", path);
		strober_state_clear(&there);
	}
	close(fd);
	return rc;
}
