/*
 * keeper.h - the keeper of a job's launchers: the parent of their srun.  A step ends with
 * the srun that started it, so its parent must be outside of the step, and stay.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_KEEPER_H
#define STORM_KEEPER_H

/*
 * Start the launchers, tell the head where they are, and stay until their step or the
 * head ends.  socket: where clients look for the head.  To the descriptor `tell` goes
 * KEEPER_READY and the number of nodes, once clients are served; KEEPER_LATE, if another keeper's launchers serve
 * them, or soon will; or why they are not.  Until then it holds the lock, which is that of
 * its client, too.  The exit status.
 */
int keeper_serve(const char *socket, int tell, int lock);

#define KEEPER_READY "ready "
#define KEEPER_LATE "late\n"

#endif
