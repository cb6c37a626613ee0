/*
 * head.h - the head of a job's launchers: it starts them by an srun of its own, owns
 * their domain, and serves clients on its host's socket.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_HEAD_H
#define STORM_HEAD_H

/* Serve until the job's step of launchers ends, or a client says so.  To the
 * descriptor `tell` goes HEAD_READY once clients are served, or why they are not.
 * The exit status. */
int head_serve(const char *socket, int tell);

#define HEAD_READY "ready\n"

#endif
