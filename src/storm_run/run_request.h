/*
 * run_request.h - a client's request for a run, as the head gets it: what was asked for,
 * and what tasks have from this process.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_REQUEST_H
#define STORM_RUN_REQUEST_H

#include <limits.h>

#include "src/storm_launcher/run_sock.h"

/* The tasks' directory; NULL: as here.  False: it was said why. */
bool run_request_cwd(const char *chdir, char (*out)[PATH_MAX]);

/* Send it, with the tasks' descriptors 1 and 2.  Umask and limits are those
 * of this process, and the environment if what has none; the rest of what is the caller's.  0 also if the head has closed the
 * connection: its last word tells why.  Else the exit status. */
int run_request_send(int sock, const struct run_ask *ask, struct run_what *what,
		     const int fd[RUN_SOCK_FDS]);

#endif
