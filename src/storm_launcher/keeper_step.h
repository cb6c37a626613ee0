/*
 * keeper_step.h - the launchers' step, as its keeper has it: an srun, and the lines that
 * launchers print.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_KEEPER_STEP_H
#define STORM_KEEPER_STEP_H

#include <poll.h>

#include "run_wire.h"

/* Slurm signals the whole job, and tasks have time until they are killed: the step
 * gets its own signal, and must not end with the keeper's.  srun minds them again. */
#define KEEPER_IGNORES \
	SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE

/*
 * Start launchers on all nodes of the step, and wait until they listen; it then has their
 * names and addresses.  head and call: what the first one is told, as launcher_serve() has
 * it.  step and head stay the caller's, until srun has ended.  False, and why.
 */
bool keeper_step_start(struct run_step *step, const char *head, uint16_t call,
		       char *why, size_t size);

/* Has srun ended, and with it the step?  To be asked after SIGCHLD. */
bool keeper_step_ended(void);

/* Wait for these, so many ms as poll(2) has it, and mind srun meanwhile; signals: a
 * signalfd(2) of SIGCHLD.  False: srun has ended; or the first launcher has no head any
 * more, and nothing else has come. */
bool keeper_step_wait(int signals, struct pollfd *p, size_t count, int wait);

/* The head was killed, by Slurm if the step has ended: put into why what srun says of that.
 * It waits for srun to end, 3 s; why stays where srun says nothing. */
void keeper_step_explain(char *why, size_t size);

/* End srun, and wait for it.  A step that ends by itself has time for that. */
void keeper_step_stop(bool by_itself);

#endif
