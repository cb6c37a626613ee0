/*
 * each_record.c - see each_record.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "each_command.h"
#include "each_job.h"
#include "each_joblog.h"
#include "each_record.h"
#include "each_resume.h"

static struct {
	const char *name; /* NULL: there is no log */
	int joblog;
} record = { .joblog = -1 };

/* Make all directories of a path.  False: it was said why. */
static bool each_make_dirs(const char *dir)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", dir);
	for (char *at = path + 1;; at++) {
		char was = *at;

		if (was && was != '/')
			continue;
		*at = '\0';
		if (mkdir(path, 0777) && errno != EEXIST) {
			run_say("error: %s: %s", path, strerror(errno));
			return false;
		}
		if (!was)
			return true;
		*at = '/';
	}
}

bool each_record_files(const struct each_job *j)
{
	char text[24];
	struct each_kept number = { .len = 0 };

	if (!j->results)
		return true;
	snprintf(text, sizeof(text), "%llu", (unsigned long long) j->task.seq);
	number.memory = (struct pull_bytes) { .buf = (uint8_t *) text,
					      .have = strlen(text) };
	return each_make_dirs(j->results) &&
	       each_output_save(&j->kept[0], j->results, "stdout") &&
	       each_output_save(&j->kept[1], j->results, "stderr") &&
	       each_output_save(&number, j->results, "seq");
}

bool each_record_log(const struct each_job *j, const struct pull_end *e,
		     const char *host)
{
	char *text, *line;
	size_t len;
	bool good;

	if (record.joblog < 0)
		return true;
	text = each_with_slot(j->text, j->len, j->slot);
	line = text ? each_joblog_line(
			      &(struct each_joblog_entry) {
				      .seq = j->task.seq,
				      .host = host,
				      .start_us = e->start_us,
				      .time_us = e->time_us,
				      .received =
					      j->kept[0].len + j->kept[1].len,
				      .exitval = e->killed ? -1 : e->status,
				      .signal = e->killed ? 15 : e->signal,
				      .command = text,
			      },
			      &len) :
		      NULL;
	good = line && write(record.joblog, line, len) == (ssize_t) len;
	if (!good)
		run_say("error: %s: %s", record.name,
			strerror(line ? errno : ENOMEM));
	free(line);
	free(text);
	return good;
}

/* What is whole of an old log stays. */
static bool each_cut_log(const struct each_options *o,
			 const struct each_resume *resume)
{
	bool adds = o->joblog_appends || resume;
	struct stat st;

	record.joblog = open(o->joblog,
			     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC |
				     (adds ? 0 : O_TRUNC),
			     0666);
	if (record.joblog < 0 || fstat(record.joblog, &st))
		return false;
	if (resume && S_ISREG(st.st_mode) &&
	    ftruncate(record.joblog, (off_t) each_resume_end(resume)))
		return false;
	if (resume ? each_resume_end(resume) > 0 : st.st_size > 0)
		return true;
	return write(record.joblog, each_joblog_header,
		     strlen(each_joblog_header)) > 0;
}

bool each_record_open(const struct each_options *o,
		      const struct each_resume *resume)
{
	record.name = o->joblog;
	if (!o->joblog || each_cut_log(o, resume))
		return true;
	run_say("%s: %s", o->joblog, strerror(errno));
	return false;
}
