/*
 * storm_run.h - the subcommands run and ps of storm(1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_H
#define STORM_RUN_H

/* argv[0] is "run".  Returns the exit status.  It takes signals, and asks for all
 * descriptors of the process: nothing else runs in it. */
int storm_run(int argc, char **argv);
/* Likewise; it takes no signals. */
int storm_ps(int argc, char **argv);

#endif
