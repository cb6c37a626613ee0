/*
 * strober_state.c - save the cluster domain's epoch and its excluded nodes in
 * StateSaveLocation, which the controllers of a cluster share.  An epoch is
 * saved before it is used, and only in place of the epoch that the owner
 * expects there.  So only one of two owners continues (doc/protocol.md, Domains,
 * owners, epochs).
 *
 * 	storm gang 2
 * 	epoch NUMBER
 * 	excluded NAME		one line for each
 * 	end CHECKSUM		of all before it
 *
 * The state before is kept, too.  If the file is damaged, the epoch goes on from
 * there, behind all that the lost one can have been: nodes obey no lower one.
 * Without both, it goes on from the date, which counts faster than owners do.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "src/libstorm/storm.h"
#include "src/storm_common/whole_file.h"
#include "strober_state.h"

#define HEAD "storm gang 2\n"
#define HEAD_1 "storm gang 1\n" /* of STORM 0.1: no checksum */
#define END "end "
/* An owner's life has so many epochs (owner_member.c). */
#define LIFE 0x10000u
#define LIFE_SECONDS (12 * 3600) /* a life for each half day of the date */
#define BEGINNING 1577836800	 /* of 2020 */
#define STATE_MAX (16 << 20)

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

/* The text's last line is right, and nothing follows. */
static bool strober_state_whole(const char *text, size_t len)
{
	char end[sizeof(END) + 18];
	int n;

	if (strlen(text) != len)
		return false;
	if (!strncmp(text, HEAD_1, strlen(HEAD_1)))
		return len > 5 && !strcmp(text + len - 5, "\nend\n");
	n = (int) strlen(END) + 17;
	if (strncmp(text, HEAD, strlen(HEAD)) || len < (size_t) n)
		return false;
	snprintf(end, sizeof(end), END "%016" PRIx64 "\n",
		 whole_file_sum(text, len - (size_t) n));
	return !strcmp(text + len - (size_t) n, end);
}

/* 0, or -1: strober_state_save() has not written this. */
static int strober_state_parse(const char *text, size_t len,
			       struct strober_saved *out)
{
	const char *p = text + strlen(HEAD);
	char name[STORM_NAME_MAX + 1];
	int n = 0;

	if (!strober_state_whole(text, len) ||
	    sscanf(p, "epoch %" SCNu32 "%n", &out->epoch, &n) != 1 ||
	    p[n] != '\n')
		return -1;
	for (p += n + 1; strncmp(p, "end", 3); p += n + 1) {
		if (sscanf(p, "excluded %255s%n", name, &n) != 1 ||
		    p[n] != '\n' || strober_state_add(out, name))
			return -1;
	}
	return 0;
}

/* The file as text; NULL and errno. */
static char *strober_state_text(const char *path, size_t *len)
{
	FILE *f = fopen(path, "re");
	char *text = f ? calloc(1, STATE_MAX) : NULL;

	if (f && text) {
		*len = fread(text, 1, STATE_MAX - 1, f);
		if (ferror(f)) {
			free(text);
			text = NULL;
		}
	}
	if (f)
		fclose(f);
	return text;
}

/* 0; or an errno; EBADMSG: it is damaged. */
static int strober_state_read(const char *path, struct strober_saved *out)
{
	size_t len = 0;
	char *text = strober_state_text(path, &len);
	int rc;

	memset(out, 0, sizeof(*out));
	if (!text)
		return errno;
	rc = strober_state_parse(text, len, out);
	free(text);
	if (!rc)
		return 0;
	strober_state_clear(out);
	return EBADMSG;
}

static int strober_state_path(char (*out)[PATH_MAX], const char *path,
			      const char *end)
{
	if ((size_t) snprintf(*out, sizeof(*out), "%s%s", path, end) <
	    sizeof(*out))
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

/* Without the file: an epoch above all that it can have had. */
static void strober_state_recover(const char *path, struct strober_saved *out)
{
	char old[PATH_MAX];
	bool has = !strober_state_path(&old, path, ".old") &&
		   !strober_state_read(old, out);

	if (has)
		out->epoch += LIFE;
	else
		out->epoch =
			(uint32_t) ((time(NULL) - BEGINNING) / LIFE_SECONDS) *
			LIFE;
	storm_log(
		STORM_LOG_WARN,
		"%s is damaged: the cluster domain goes on in epoch %u, %s; if nodes do not take part, restart slurmd there",
		path, out->epoch,
		has ? "after the one before" : "which the date gives");
}

int strober_state_load(const char *path, struct strober_saved *out)
{
	int err = strober_state_read(path, out);

	if (!err || err == ENOENT)
		return 0;
	if (err == EBADMSG) {
		strober_state_recover(path, out);
		return 0;
	}
	storm_log(STORM_LOG_ERROR, "cannot read %s: %s", path, strerror(err));
	return -1;
}

/* The state as text, malloc()ed; NULL: no memory. */
static char *strober_state_format(const struct strober_saved *now, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);
	bool bad;

	if (!f)
		return NULL;
	fprintf(f, HEAD "epoch %" PRIu32 "\n", now->epoch);
	for (uint32_t i = 0; i < now->nexcluded; i++)
		fprintf(f, "excluded %s\n", now->excluded[i]);
	bad = fflush(f);
	if (!bad)
		fprintf(f, END "%016" PRIx64 "\n", whole_file_sum(text, *len));
	bad |= ferror(f) != 0;
	if (fclose(f) || bad) {
		free(text);
		return NULL;
	}
	return text;
}

static int strober_state_write(int fd, const struct strober_saved *now)
{
	size_t len = 0;
	char *text = strober_state_format(now, &len);
	ssize_t n = text ? write(fd, text, len) : -1;

	free(text);
	if (n < 0)
		return -1;
	if ((size_t) n < len) {
		errno = ENOSPC;
		return -1;
	}
	return fsync(fd);
}

/* Keep the state that is replaced.  Without it (a full disk) the replacement is
 * as good. */
static void strober_state_keep(const char *path)
{
	char old[PATH_MAX];

	if (strober_state_path(&old, path, ".old"))
		return;
	unlink(old);
	if (link(path, old) && errno != ENOENT)
		storm_log(STORM_LOG_DEBUG, "cannot keep %s: %m", old);
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

/* damaged: what is there is not worth to be kept. */
static int strober_state_replace(const char *path, bool damaged,
				 const struct strober_saved *now)
{
	char tmp[PATH_MAX];
	int fd, rc;

	if (strober_state_path(&tmp, path, ".new"))
		return -1;
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		  0600);
	if (fd < 0)
		return -1;
	rc = strober_state_write(fd, now);
	close(fd);
	if (!rc && !damaged)
		strober_state_keep(path);
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

	if (strober_state_path(&name, path, ".lock"))
		return -1;
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
	int fd = strober_state_lock(path), rc = -1, err;

	if (fd < 0) {
		storm_log(STORM_LOG_ERROR, "cannot lock %s.lock: %m", path);
		return -1;
	}
	err = strober_state_read(path, &there);
	/* the epoch that was recovered for a damaged one may be of the date */
	if (err && err != ENOENT && err != EBADMSG)
		storm_log(STORM_LOG_ERROR, "cannot read %s: %s", path,
			  strerror(err));
	else if (err != EBADMSG && there.epoch != was)
		storm_log(
			STORM_LOG_ERROR,
			"%s: found epoch %u instead of our %u: another slurmctld of this cluster has taken over",
			path, there.epoch, was);
	else if ((rc = strober_state_replace(path, err == EBADMSG, now)))
		storm_log(STORM_LOG_ERROR, "cannot save %s: %m", path);
	strober_state_clear(&there);
	close(fd);
	return rc;
}
