/*
 * each_output.c - see each_output.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "each_output.h"
#include "each_screen.h"
#include "src/libstorm/base/minmax.h"

#define EACH_KEPT_MAX (1u << 20)    /* bytes of a task in memory */
#define EACH_MEMORY_MAX (32u << 20) /* and of all tasks */
#define EACH_PIECE 4096 /* a pipe that poll(2) calls writable takes so much */

static struct {
	enum each_group group;
	bool saves; /* all of it is kept for files, too */
	int signals, file;
	size_t memory; /* kept of all tasks */
	off_t end;     /* of the file */
	bool (*stop)(void);
	bool lost, drops, passes;
} output = { .file = -1 };

void each_output_init(const struct each_options *o, int signals,
		      bool (*stop)(void))
{
	output.group = o->keep_order && o->group == EACH_LINE_BUFFER ?
			       EACH_GROUPED :
			       o->group;
	output.saves = o->results;
	output.signals = signals;
	output.stop = stop;
}

bool each_output_lost(void)
{
	return output.lost;
}

/* Once: what goes wrong goes wrong for all. */
static void each_output_fail(const char *what)
{
	if (!output.lost)
		run_say("error: output is lost: %s: %s", what, strerror(errno));
	output.lost = true;
}

/* ------------------------------------------------------------------- writing --- */

/* A reader that has stopped does not keep signals from being heard. */
void each_output_write(int fd, const void *buf, size_t len)
{
	const uint8_t *at = buf;

	if (!len)
		return;
	each_screen_yield(fd);
	while (len && !output.drops) {
		struct pollfd p[] = { { fd, POLLOUT, 0 },
				      { output.signals, POLLIN, 0 } };
		ssize_t n;

		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents)
			output.drops = output.stop();
		if (!p[0].revents)
			continue;
		n = write(fd, at, storm_min(len, (size_t) EACH_PIECE));
		if (n < 0 && errno != EINTR && errno != EAGAIN) {
			each_output_fail(fd == STDOUT_FILENO ?
						 "standard output" :
						 "standard error");
			return;
		}
		if (n <= 0)
			continue;
		at += n;
		len -= (size_t) n;
		each_screen_wrote(fd, at[-1]);
	}
	output.lost |= output.drops;
}

/* Each line with the tag before it. */
static void each_output_lines(bool *inside, int fd, const char *tag,
			      const uint8_t *buf, size_t len)
{
	static struct pull_bytes whole;
	const uint8_t *end = buf + len;

	if (!tag) {
		each_output_write(fd, buf, len);
		return;
	}
	while (buf < end) {
		const uint8_t *stop = memchr(buf, '\n', (size_t) (end - buf));
		size_t n = (size_t) (stop ? stop + 1 - buf : end - buf);
		size_t before = *inside ? 0 : strlen(tag) + 1;
		uint8_t *to = pull_bytes_more(&whole, before + n);

		if (!to)
			break;
		if (before) {
			memcpy(to, tag, before - 1);
			to[before - 1] = '\t';
		}
		memcpy(to + before, buf, n);
		*inside = !stop;
		buf += n;
	}
	each_output_write(fd, whole.buf, whole.have);
	whole.have = 0;
}

/* ------------------------------------------------------------------- keeping --- */

static int each_output_file(void)
{
	const char *dir = getenv("TMPDIR");
	char path[PATH_MAX];

	dir = dir && *dir ? dir : "/tmp";
	output.file = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (output.file >= 0)
		return output.file;
	snprintf(path, sizeof(path), "%s/storm-each-XXXXXX", dir);
	output.file = mkostemp(path, O_CLOEXEC);
	if (output.file >= 0)
		unlink(path);
	return output.file;
}

/* Its memory goes to the end of the file.  False, and errno: it does not, and stays. */
static bool each_kept_spill(struct each_kept *k)
{
	size_t have = k->memory.have, done = 0;
	struct each_extent *more =
		reallocarray(k->file, k->extents + 1, sizeof(*more));

	if (more)
		k->file = more;
	if (!more || (output.file < 0 && each_output_file() < 0))
		return false;
	while (done < have) {
		ssize_t n = pwrite(output.file, k->memory.buf + done,
				   have - done, output.end + (off_t) done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t) n;
	}
	k->file[k->extents++] = (struct each_extent) { output.end, done };
	output.end += (off_t) done;
	output.memory -= have;
	pull_bytes_fini(&k->memory);
	return true;
}

/* False, and errno: it is more than is to be in memory, and there is no room elsewhere. */
static bool each_kept_add(struct each_kept *k, const uint8_t *buf, size_t len)
{
	bool fits = true;
	uint8_t *to;
	int err;

	if (!len)
		return true;
	if (k->memory.have && (k->memory.have + len > EACH_KEPT_MAX ||
			       output.memory + len > EACH_MEMORY_MAX))
		fits = each_kept_spill(k);
	err = errno;
	to = pull_bytes_more(&k->memory, len);
	if (!to) {
		each_output_fail("memory");
		return true;
	}
	memcpy(to, buf, len);
	k->have += len;
	output.memory += len;
	errno = err;
	return fits;
}

/* What is kept is not needed any more; more may come. */
static void each_kept_empty(struct each_kept *k)
{
	const struct each_kept was = *k;

	each_kept_fini(k);
	k->len = was.len;
	k->inside = was.inside;
	k->passes = was.passes;
}

void each_kept_fini(struct each_kept *k)
{
	output.memory -= k->memory.have;
	pull_bytes_fini(&k->memory);
	/* the file does not grow without end */
	for (size_t e = 0; e < k->extents; e++)
		fallocate(output.file,
			  FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  k->file[e].at, (off_t) k->file[e].len);
	free(k->file);
	*k = (struct each_kept) { 0 };
}

/* What is behind so many bytes of it, in order, to give(). */
static void each_kept_walk(const struct each_kept *k, uint64_t from,
			   void (*give)(void *arg, const uint8_t *buf,
					size_t len),
			   void *arg)
{
	static uint8_t piece[64u << 10];

	for (size_t e = 0; e < k->extents; e++) {
		size_t done = storm_min(from, (uint64_t) k->file[e].len);

		from -= done;
		while (done < k->file[e].len) {
			size_t left = k->file[e].len - done;
			ssize_t n = pread(output.file, piece,
					  storm_min(left, sizeof(piece)),
					  k->file[e].at + (off_t) done);

			if (n <= 0) {
				each_output_fail("a file below TMPDIR");
				break;
			}
			give(arg, piece, (size_t) n);
			done += (size_t) n;
		}
	}
	if (k->memory.have > from)
		give(arg, k->memory.buf + from, k->memory.have - from);
}

/* -------------------------------------------------------------- what comes in --- */

struct each_print {
	struct each_kept *kept;
	int fd;
	const char *tag;
};

static void each_output_print(void *arg, const uint8_t *buf, size_t len)
{
	struct each_print *p = arg;

	each_output_lines(&p->kept->inside, p->fd, p->tag, buf, len);
}

/* What was not printed yet. */
static void each_output_rest(struct each_kept *k, int fd, const char *tag)
{
	struct each_print p = { k, fd, tag };

	each_kept_walk(k, k->shown, each_output_print, &p);
	k->shown = k->have;
}

/* The begin of a line, behind all whole ones in memory; it goes to another place. */
static void each_output_tail(struct each_kept *k, struct pull_bytes *tail)
{
	const uint8_t *buf = k->memory.buf;
	const uint8_t *last = memrchr(buf, '\n', k->memory.have);
	size_t len = last ? (size_t) (buf + k->memory.have - last - 1) : 0;
	uint8_t *to = len ? pull_bytes_more(tail, len) : NULL;

	if (!to)
		return;
	memcpy(to, last + 1, len);
	k->memory.have -= len;
	k->have -= len;
	output.memory -= len;
}

/* Nothing is lost because it cannot be kept: it is printed, and comes as it is written from
 * now on. */
static void each_output_pass(struct each_kept *k, int fd, const char *tag)
{
	struct pull_bytes tail = { 0 };

	if (output.saves)
		each_output_fail("files of --results, by way of TMPDIR");
	else if (!output.passes)
		run_say("output of tasks comes as lines are written, and no more as a whole: a file below TMPDIR: %s",
			strerror(errno));
	output.passes = k->passes = true;
	each_output_tail(k, &tail);
	each_output_rest(k, fd, tag);
	each_kept_empty(k);
	each_kept_add(k, tail.buf, tail.have);
	pull_bytes_fini(&tail);
}

/* Whole lines as they come. */
static void each_output_whole(struct each_kept *k, int fd, const char *tag,
			      const uint8_t *buf, size_t len)
{
	const uint8_t *last = memrchr(buf, '\n', len);
	size_t n = last ? (size_t) (last + 1 - buf) : 0;

	if (n) {
		each_output_rest(k, fd, tag);
		each_output_lines(&k->inside, fd, tag, buf, n);
		k->shown += n;
	}
	if (n && !output.saves) {
		each_kept_empty(k);
		buf += n;
		len -= n;
	}
	if (!each_kept_add(k, buf, len))
		each_output_pass(k, fd, tag);
}

void each_output_add(struct each_kept *k, int fd, const char *tag,
		     const uint8_t *buf, size_t len)
{
	k->len += len;
	if (output.group == EACH_LINE_BUFFER || k->passes) {
		each_output_whole(k, fd, tag, buf, len);
		return;
	}
	if (output.group == EACH_UNGROUPED) {
		each_output_write(fd, buf, len);
		k->shown += len;
	}
	if ((output.group == EACH_GROUPED || output.saves) &&
	    !each_kept_add(k, buf, len))
		each_output_pass(k, fd, tag);
}

void each_output_end(struct each_kept *k, int fd, const char *tag)
{
	if (output.group != EACH_UNGROUPED || k->passes)
		each_output_rest(k, fd, tag);
}

struct each_save {
	int fd, err;
};

static void each_output_to_file(void *arg, const uint8_t *buf, size_t len)
{
	struct each_save *s = arg;

	while (len && !s->err) {
		ssize_t n = write(s->fd, buf, len);

		if (n < 0 && errno != EINTR)
			s->err = errno;
		if (n <= 0)
			continue;
		buf += n;
		len -= (size_t) n;
	}
}

bool each_output_save(const struct each_kept *k, const char *dir,
		      const char *name)
{
	struct each_save s = { .err = 0 };
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	s.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (s.fd < 0) {
		run_say("error: %s: %s", path, strerror(errno));
		return false;
	}
	each_kept_walk(k, 0, each_output_to_file, &s);
	if (close(s.fd) && !s.err)
		s.err = errno;
	if (s.err)
		run_say("error: %s: %s", path, strerror(s.err));
	return !s.err;
}
