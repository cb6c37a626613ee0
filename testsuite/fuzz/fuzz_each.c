/*
 * fuzz_each.c - what storm each and its pullers tell each other, and a joblog that --resume
 * reads.
 *
 *   u8 which of these it is; a frame's body, a line, or a file
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "src/storm_each/each_joblog.h"
#include "src/storm_each/each_resume.h"
#include "src/storm_each/pull_queue.h"
#include "src/storm_each/pull_wire.h"
#include "src/storm_run/run_say.h"

#define SLOT 4294967295u /* with the most digits */

/* What is said of a file that is none would be all that is seen. */
void run_say(const char *fmt, ...)
{
	(void) fmt;
}

/* --------------------------------------------------------------------- frames --- */

static void must_be_body(struct pull_bytes *b, const uint8_t *body, size_t len)
{
	must(!b->failed && b->have == RUN_FRAME_HEADER + len);
	must(!memcmp(b->buf + RUN_FRAME_HEADER, body, len));
	pull_bytes_fini(b);
}

static void setup_read(const uint8_t *buf, size_t len)
{
	struct storm_in i = { buf, buf + len, false };
	struct pull_bytes b = { 0 };
	struct pull_setup s;

	if (!pull_setup_get(&i, &s))
		return;
	must(s.slots);
	pull_setup_put(&b, &s);
	must_be_body(&b, buf, len);
}

/* There are many ways to write that a task was killed. */
static void end_read(const uint8_t *buf, size_t len)
{
	struct storm_in i = { buf, buf + len, false };
	struct pull_bytes b = { 0 }, again = { 0 };
	struct pull_end e, same;

	if (!pull_end_get(&i, &e))
		return;
	pull_end_put(&b, &e);
	must(b.have == RUN_FRAME_HEADER + len);
	i = (struct storm_in) { b.buf + RUN_FRAME_HEADER, b.buf + b.have,
				false };
	must(pull_end_get(&i, &same));
	pull_end_put(&again, &same);
	must_be_body(&again, b.buf + RUN_FRAME_HEADER, len);
	pull_bytes_fini(&b);
}

/* Two of them, of which the last one is recalled; the other one begins. */
static void task_read(const uint8_t *buf, size_t len)
{
	struct pull_queue q = { 0 };
	struct pull_task *t;
	const char *text;

	for (int k = 0; k < 2; k++) {
		struct storm_in i = { buf, buf + len, false };

		if (!pull_queue_add(&q, &i)) {
			must(!k && !q.first && !q.last);
			return;
		}
	}
	must(q.first && q.first != q.last);
	pull_task_free(pull_queue_last(&q));
	t = pull_queue_first(&q);
	must(t && !q.first && !q.last);
	must(strlen(t->dir) <= len - 12);
	text = pull_task_text(t, SLOT);
	/* each byte 0 of it is the slot's number */
	must(text && strlen(text) <= 10 * (len - 12));
	pull_task_free(t);
}

/* --------------------------------------------------------------------- joblog --- */

static void must_be_same(const struct each_joblog_entry *a,
			 const struct each_joblog_entry *b)
{
	must(a->seq == b->seq && a->sent == b->sent);
	must(a->received == b->received);
	must(a->exitval == b->exitval && a->signal == b->signal);
	/* a line has milliseconds */
	must(a->start_us / 1000 == b->start_us / 1000);
	must(a->time_us / 1000 == b->time_us / 1000);
}

static void line_read(const uint8_t *buf, size_t len)
{
	struct each_joblog_entry e, again;
	char *text = strndup((const char *) buf, len), *line;
	size_t size;

	must(text);
	if (each_joblog_parse(text, &e) > 0) {
		must(e.seq >= 1);
		e.host = "n1";
		e.command = "true";
		line = each_joblog_line(&e, &size);
		must(line && size == strlen(line));
		must(each_joblog_parse(line, &again) == 1);
		must_be_same(&e, &again);
		free(line);
	}
	free(text);
}

static void file_read(const uint8_t *buf, size_t len)
{
	int fd = memfd_create("joblog", MFD_CLOEXEC);
	struct each_resume *all, *failed;
	char path[32];

	must(fd >= 0 && write(fd, buf, len) == (ssize_t) len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	all = each_resume_read(path, false);
	failed = each_resume_read(path, true);
	must(!all == !failed);
	if (all) {
		uint64_t end = each_resume_end(all);

		/* whole lines, and at most one that is not */
		must(end <= len && (!end || buf[end - 1] == '\n'));
		must(!memchr(buf + end, '\n', len - end));
		must(each_resume_count(failed) <= each_resume_count(all));
		must(!each_resume_done(all, 0));
		for (uint64_t seq = 1; seq < 20; seq++)
			must(!each_resume_done(failed, seq) ||
			     each_resume_done(all, seq));
	}
	each_resume_destroy(all);
	each_resume_destroy(failed);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const read[])(const uint8_t *,
				    size_t) = { setup_read, end_read, task_read,
						line_read, file_read };
	uint8_t *buf;

	if (!size)
		return 0;
	buf = exact(data + 1, size - 1);
	read[data[0] % (sizeof(read) / sizeof(*read))](buf, size - 1);
	free(buf);
	return 0;
}
