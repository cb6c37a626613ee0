/*
 * run_begin.h - what a client of launchers does first with what it has got from its parent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_BEGIN_H
#define STORM_RUN_BEGIN_H

#include <signal.h>
#include <stddef.h>

/* No descriptor of its own takes the place of a standard one that is closed. */
void run_begin_files(void);

/* Those of these signals that are not ignored: nohup(1) ignores some, and a shell without
 * job control in what it begins in the background. */
void run_begin_signals(const int *all, size_t n, sigset_t *out);

#endif
