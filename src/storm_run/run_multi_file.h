/*
 * run_multi_file.h - the file of --multi-prog on this host.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_MULTI_FILE_H
#define STORM_RUN_MULTI_FILE_H

#include "src/storm_launcher/run_wire.h"

/* Read the file argv[0]; programs get the rest of argv, too.  A number of tasks that is not
 * given becomes that of the file, if it names some.  False: it was said why.
 * run_programs_free() frees out. */
bool run_multi_file(char *const *argv, struct run_ask *ask,
		    struct run_programs *out);

#endif
