/*
 * each_resume.h - which tasks a log says to be done: --resume and --resume-failed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_RESUME_H
#define STORM_EACH_RESUME_H

#include <stdbool.h>
#include <stdint.h>

struct each_resume;

/* Read the log.  A file that is not there has no task.  with_failed: tasks that failed
 * last are to run again.  NULL: it was said why. */
struct each_resume *each_resume_read(const char *joblog, bool with_failed);

/* Need task seq not run again? */
bool each_resume_done(const struct each_resume *r, uint64_t seq);

/* How many tasks it says to be done. */
uint64_t each_resume_count(const struct each_resume *r);

/* The size of what is whole in the file: what is behind it is to be cut off before
 * the next line is written.  0: the file needs its header. */
uint64_t each_resume_end(const struct each_resume *r);

/* NULL is nothing. */
void each_resume_destroy(struct each_resume *r);

#endif
