/*
 * each_record.h - what stays of a task: its line in the joblog, and its files of --results.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_RECORD_H
#define STORM_EACH_RECORD_H

#include <stdbool.h>

struct each_job;
struct each_options;
struct each_resume;
struct pull_end;

/* The log, behind what resume (NULL: none) has read of it.  False, here and below: it was
 * said why. */
bool each_record_open(const struct each_options *o,
		      const struct each_resume *resume);
bool each_record_log(const struct each_job *j, const struct pull_end *e,
		     const char *host);
bool each_record_files(const struct each_job *j);

#endif
