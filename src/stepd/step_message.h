/*
 * step_message.h - a message of slurmstepd to srun, which the relay receives in
 * srun's place.  The relay reads and parses it and, if necessary, forwards it
 * unchanged.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_MESSAGE_H
#define STORM_STEP_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "slurm/slurm.h"
#include "src/common/slurm_protocol_defs.h"

struct step_message {
	struct step_message *next;
	char *bytes; /* with Slurm's length in front */
	size_t len;
	uint8_t kind;		   /* STEP_REPORT_*; 0: only to be forwarded */
	uint32_t code, n, unacked; /* n ids, of which so many are unacked */
	uint32_t *ids;		   /* NO_VAL once acknowledged */
	uint32_t *pids;		   /* of the ids' tasks; NULL: no start */
	uint64_t deadline;	   /* CLOCK_MONOTONIC ns */
	slurm_msg_t msg;	   /* for the answer */
	int fd;			   /* where slurmstepd waits for it, or -1 */
};

/* Read one from slurmstepd; the message takes over fd.  NULL: malformed. */
struct step_message *step_message_read(int fd);
/* Free m, and close its fd. */
void step_message_destroy(struct step_message *m);

/* The owner has acknowledged the report of this id. */
void step_message_acked(struct step_message *m, uint8_t kind, uint32_t id);
/* Answer slurmstepd, which waits for that. */
void step_message_answer(struct step_message *m);
/* Send the message to srun's own address, as slurmstepd would.  Tries for some
 * seconds; a failure is logged. */
void step_message_forward(const struct step_message *m, slurm_addr_t *srun);

#endif
