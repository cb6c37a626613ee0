/*
 * run_multi.h - the file of --multi-prog, as srun reads it: which tasks execute which
 * program.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_MULTI_H
#define STORM_RUN_MULTI_H

#include <stddef.h>

#include "src/storm_launcher/run_programs.h"

#define RUN_MULTI_WHY 200 /* bytes */

/*
 * Read the text of such a file, of len bytes.  Each program gets the arguments `more`,
 * too, as they are; it ends with NULL.  tasks: how many the run has; 0: not known, so what
 * does not fit is not found.
 * True: run_programs_free() frees out.  False, and why not, with the line; nothing needs to
 * be freed.
 */
bool run_multi_read(const char *text, size_t len, char *const *more,
		    uint32_t tasks, struct run_programs *out,
		    char (*why)[RUN_MULTI_WHY]);

#endif
