/*
 * metrics_file.h - metrics for node_exporter's textfile collector.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_METRICS_FILE_H
#define STORM_METRICS_FILE_H

#include "metrics_model.h"

/* Write path whole, by rename, with mode 644.  Its counters go on from those of the last
 * call, of which .NAME.state beside it tells.  Takes over names (metrics_ask()).  False: it
 * is not possible, which was said on standard error. */
bool metrics_file_write(const char *path, const struct metrics *m, char *names);

#endif
