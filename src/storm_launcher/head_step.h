/*
 * head_step.h - the step of the launchers, as the head sees it: an srun that is its
 * child, and the lines that launchers print.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_HEAD_STEP_H
#define STORM_HEAD_STEP_H

#include <sys/types.h>

#include "run_wire.h"

struct head_step {
	uint32_t count;
	uint32_t *cpus;		  /* of each node */
	struct storm_node *nodes; /* by SLURM_PROCID of the launchers */
	char *job;
	pid_t srun; /* 0: it has ended */
	int out;    /* what launchers print */
	int status; /* srun's, once it has ended */
};

/* What the job is, by its environment.  False: why says what is missing. */
bool head_step_init(struct head_step *s, char *why, size_t size);

/* Start the launchers, and wait until all of them listen.  socket: the head's. */
bool head_step_start(struct head_step *s, const char *socket, char *why,
		     size_t size);

/* Call it after SIGCHLD: true, once srun has ended. */
bool head_step_ended(struct head_step *s);
/* Launchers print nothing more; but what comes is read. */
void head_step_drain(struct head_step *s);
/* End srun, and wait for it. */
void head_step_stop(struct head_step *s);

#endif
