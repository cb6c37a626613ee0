/*
 * each_run.h - storm each: run the tasks, and tell how they ended.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_RUN_H
#define STORM_EACH_RUN_H

struct each_options;

/* The exit status of storm each.  It takes signals: nothing else runs in the process. */
int each_run(struct each_options *o);

#endif
