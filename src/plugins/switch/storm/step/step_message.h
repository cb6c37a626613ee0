/*
 * step_message.h - a message of slurmstepd to srun that this process has received in
 * srun's place: read, understood, and, if need be, written to srun as it is.
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
	char *bytes;		/* with Slurm's length in front */
	size_t len;
	uint8_t kind;		/* STEP_REPORT_*; 0: not for storm */
	uint32_t code, n, unacked;
	uint32_t *ids;		/* NO_VAL once acknowledged */
	uint64_t deadline;
	slurm_msg_t msg;	/* what an answer needs of it */
	int fd;			/* slurmstepd waits there, or -1 */
};

/* Read one from slurmstepd; fd is the message's from now on.  NULL: it is not
 * understood. */
struct step_message *step_message_read(int fd);
/* Also closes fd. */
void step_message_destroy(struct step_message *m);

/* The owner has the report of this id. */
void step_message_acked(struct step_message *m, uint8_t kind, uint32_t id);
/* slurmstepd has handed it over, and waits no longer. */
void step_message_answer(struct step_message *m);
/* To srun's own address, as slurmstepd would have sent it.  Tries for some seconds. */
void step_message_forward(const struct step_message *m, slurm_addr_t *srun);

#endif
