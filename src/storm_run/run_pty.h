/*
 * run_pty.h - the client's terminal while its task has a pseudo terminal (--pty): keys go to
 * the task as they are, also those that are signals elsewhere.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_PTY_H
#define STORM_RUN_PTY_H

#include "src/storm_launcher/run_wire.h"

/* Standard input is a terminal, and w gets its size. */
bool run_pty_tell(struct run_what *w);
/* From now on keys are the task's, and the head is told its size by this connection.  In
 * the background it stops the client, as all who change a terminal.  Later calls do
 * nothing. */
void run_pty_begin(int sock);
/* Likewise, after a stop, in which a shell has changed it; before the first call nothing. */
void run_pty_resume(int sock);
/* The terminal is as it was; without the first call nothing changes. */
void run_pty_end(void);
/* Tell the head the terminal's size, by this connection. */
void run_pty_send_size(int sock);

#endif
