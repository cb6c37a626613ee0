/*
 * gang_step.c - see gang_step.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gang_step.h"
#include "src/storm_common/local/local.h"
#include "src/storm_common/proc_state.h"
#include "src/storm_common/whole_file.h"

#define RECORD_MAX (2 * PATH_MAX + 192)
#define FORMAT "storm step 4"
/* A word before the sum, which is there if it is so.  An agent of an earlier version
 * reads a record that has it as one that has not. */
#define YIELD "yield"
#define SUM_LEN 17	       /* 16 digits and a newline */
#define MARK_AT sizeof(FORMAT) /* after it and a blank */
#define HELD ".held."	       /* prefix of a hidden record */

void gang_step_name(const struct gang_step *s, char (*out)[GANG_STEP_NAME])
{
	snprintf(*out, sizeof(*out), "%u.%u.%d", s->job, s->step, s->root);
}

uint64_t gang_step_started(pid_t pid)
{
	char buf[1024], *p;
	uint64_t when = 0;

	if (proc_read(pid, "stat", buf, sizeof(buf)) < 0)
		return 0;
	/* field 22; the name, which may hold blanks, is the second */
	p = strrchr(buf, ')');
	for (int i = 2; p && i < 22; i++)
		p = strchr(p + 1, ' ');
	if (p)
		when = strtoull(p, NULL, 10);
	return when;
}

bool gang_step_alive(const struct gang_step *s)
{
	return gang_step_started(s->root) == s->started;
}

/* What could not be opened may be there: this process or the host has no descriptor left,
 * or no memory. */
static bool gang_step_unknown(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOMEM;
}

bool gang_step_over(pid_t root, uint64_t *started)
{
	uint64_t now;

	errno = 0;
	now = gang_step_started(root);
	if (!now)
		return !gang_step_unknown(errno);
	if (!*started)
		*started = now;
	return now != *started;
}

bool gang_step_ended(const struct gang_step *s)
{
	uint64_t started = s->started;

	return gang_step_over(s->root, &started);
}

/* A cpu group that is gone, or was never there, is no fault: it does not fill. */
struct freezer *gang_step_open(const struct gang_step *s)
{
	struct freezer *f = freezer_open(s->kind, s->group, s->root);

	if (f)
		freezer_open_idle(f, s->idle);
	return f;
}

int gang_step_dir(const char *rundir, const char *node, bool make,
		  char (*out)[PATH_MAX])
{
	int n;

	if (make) {
		int err = local_make_dir(rundir, node);

		if (err)
			return err;
	}
	n = snprintf(*out, sizeof(*out), "%s/%s/steps",
		     rundir ? rundir : STORM_RUNDIR, node);
	if (n < 0 || (size_t) n >= sizeof(*out))
		return ENAMETOOLONG;
	return make && mkdir(*out, 0755) && errno != EEXIST ? errno : 0;
}

/* ---------------------------------------------------------------- records --- */

static int gang_step_path(char (*out)[PATH_MAX], const char *dir,
			  const char *prefix, const char *name)
{
	int n = snprintf(*out, sizeof(*out), "%s/%s%s", dir, prefix, name);

	return n < 0 || (size_t) n >= sizeof(*out) ? ENAMETOOLONG : 0;
}

/* The checksum of the text without the mark, which changes in place. */
static uint64_t gang_step_sum(const char *text, size_t len)
{
	return whole_file_sum(text + MARK_AT + 1, len - MARK_AT - 1);
}

/* The text is whole: the sum at its end is right, and nothing follows. */
static bool gang_step_whole(const char *text, size_t len)
{
	char sum[SUM_LEN + 1];

	if (len < MARK_AT + 1 + SUM_LEN || strlen(text) != len)
		return false;
	snprintf(sum, sizeof(sum), "%016" PRIx64 "\n",
		 gang_step_sum(text, len - SUM_LEN));
	return !strcmp(text + len - SUM_LEN, sum);
}

int gang_step_write(const char *dir, const struct gang_step *s)
{
	char name[GANG_STEP_NAME], text[RECORD_MAX];
	size_t len;

	gang_step_name(s, &name);
	snprintf(text, sizeof(text),
		 FORMAT " %u %u %u %u %d %" PRIu64 " %s %s %s %s", s->marked,
		 s->job, s->step, s->script, s->root, s->started,
		 freezer_name(s->kind), *s->group ? s->group : "-",
		 *s->idle ? s->idle : "-", s->yields ? YIELD " " : "");
	len = strlen(text);
	snprintf(text + len, sizeof(text) - len, "%016" PRIx64 "\n",
		 gang_step_sum(text, len));
	return whole_file_write(dir, name, text, strlen(text));
}

static int gang_step_parse(const char *text, struct gang_step *s)
{
	char kind[16], group[PATH_MAX], idle[PATH_MAX], last[SUM_LEN];
	unsigned int script, marked;

	if (sscanf(text,
		   FORMAT " %1u %" SCNu32 " %" SCNu32 " %u %d %" SCNu64
			  " %15s %4095s %4095s %16s",
		   &marked, &s->job, &s->step, &script, &s->root, &s->started,
		   kind, group, idle, last) != 10)
		return EBADMSG;
	s->kind = freezer_kind_of(kind);
	s->script = script;
	s->marked = marked;
	s->yields = !strcmp(last, YIELD);
	strcpy(s->group, strcmp(group, "-") ? group : "");
	strcpy(s->idle, strcmp(idle, "-") ? idle : "");
	if (s->kind == FREEZER_NONE || s->root <= 1)
		return EBADMSG;
	return 0;
}

int gang_step_read(const char *dir, const char *name, struct gang_step *out)
{
	char text[RECORD_MAX];
	struct gang_step s;
	ssize_t n = whole_file_read(dir, name, text, sizeof(text) - 1);
	int err;

	if (n < 0)
		return errno;
	text[n] = '\0';
	err = gang_step_whole(text, (size_t) n) ? gang_step_parse(text, &s) :
						  EBADMSG;
	if (!err)
		*out = s;
	return err;
}

void gang_step_remove(const char *dir, const char *name)
{
	char path[PATH_MAX];

	if (!gang_step_path(&path, dir, "", name))
		unlink(path);
	if (!gang_step_path(&path, dir, HELD, name))
		unlink(path);
}

int gang_step_hold(const char *dir, const char *name, bool hold)
{
	char seen[PATH_MAX], hidden[PATH_MAX];
	int err = gang_step_path(&seen, dir, "", name);

	if (!err)
		err = gang_step_path(&hidden, dir, HELD, name);
	if (!err && rename(hold ? seen : hidden, hold ? hidden : seen))
		err = errno;
	return err;
}

void gang_step_tell(const char *rundir, const char *node)
{
	struct local_frame *f = malloc(sizeof(*f)); /* large */

	if (!f)
		return;
	local_begin(f, LOCAL_STEPS);
	local_tell(rundir, node, f, -1);
	free(f);
}

bool gang_step_held(const char *dir, const char *name)
{
	char hidden[PATH_MAX];

	return !gang_step_path(&hidden, dir, HELD, name) &&
	       !access(hidden, F_OK);
}

int gang_step_each(const char *dir,
		   void (*f)(void *arg, const char *name,
			     const struct gang_step *s),
		   void *arg)
{
	DIR *d = opendir(dir);
	struct gang_step s;
	struct dirent *e;
	int rc = 0;

	if (!d)
		return errno == ENOENT ? 0 : errno;
	while (errno = 0, (e = readdir(d))) {
		int err = *e->d_name == '.' ?
				  EBADMSG :
				  gang_step_read(dir, e->d_name, &s);

		if (!err)
			f(arg, e->d_name, &s);
		else if (gang_step_unknown(err))
			rc = err;
	}
	if (errno)
		rc = errno;
	closedir(d);
	return rc;
}

/* ------------------------------------------------------------------ marks --- */

/* A digit of the record's text, in mapped memory. */
struct gang_mark {
	_Atomic char digit;
};

static void *gang_mark_map(const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	void *map = MAP_FAILED;
	int err = gang_step_path(&path, dir, "", name), fd;

	if (err) {
		errno = err;
		return NULL;
	}
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st)) {
		errno = EBADMSG;
		if (st.st_size > (off_t) MARK_AT)
			map = mmap(NULL, MARK_AT + 1, PROT_READ | PROT_WRITE,
				   MAP_SHARED, fd, 0);
	}
	err = errno;
	close(fd);
	errno = err;
	return map == MAP_FAILED ? NULL : map;
}

struct gang_mark *gang_mark_open(const char *dir, const char *name)
{
	char *map = gang_mark_map(dir, name);

	return map ? (struct gang_mark *) (map + MARK_AT) : NULL;
}

void gang_mark_set(struct gang_mark *m, bool marked)
{
	m->digit = marked ? '1' : '0';
}

void gang_mark_close(struct gang_mark *m)
{
	if (m)
		munmap((char *) m - MARK_AT, MARK_AT + 1);
}

static void gang_mark_clear(const char *dir, const char *name)
{
	struct gang_mark *m = gang_mark_open(dir, name);

	if (!m) /* the step has ended */
		return;
	gang_mark_set(m, false);
	gang_mark_close(m);
}

struct thaw {
	const char *dir;
	bool dead;
	void (*warn)(const char *name, int err);
	unsigned int steps;
};

static void gang_step_thaw(void *arg, const char *name,
			   const struct gang_step *s)
{
	struct thaw *t = arg;
	struct freezer *f;
	int err;

	t->steps++;
	if (!s->marked)
		return;
	/* With signals a pid may be reused; a group is always the step's. */
	if (s->kind == FREEZER_SIGNALS && !gang_step_alive(s))
		return;
	f = gang_step_open(s);
	err = f ? freezer_continue(f, true) : errno;
	freezer_drop(f);
	if (!err && t->dead)
		gang_mark_clear(t->dir, name);
	if (err && err != ENOENT && err != ENODEV && t->warn)
		t->warn(name, err);
}

unsigned int gang_step_thaw_all(const char *dir, bool dead,
				void (*warn)(const char *name, int err))
{
	struct thaw t = { .dir = dir, .dead = dead, .warn = warn };
	int err = gang_step_each(dir, gang_step_thaw, &t);

	if (err && warn)
		warn(dir, err);
	return t.steps;
}
