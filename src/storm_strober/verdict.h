/*
 * verdict.h - what became of a node that is silent, by the word of a second witness: do
 * the TCP ports of its slurmd and of its agent answer?  It uses no clock and no socket.
 *
 * A connection or a refusal proves that the host lives, and comes at once.  Silence is
 * what a dead host leaves, or a lost datagram: only VERDICT_ROUNDS of it in a row count.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_VERDICT_H
#define STORM_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libstorm/base/clock.h"
#include "src/storm_common/strober_protocol.h"

/* What a port has answered. */
enum verdict_answer {
	ANSWER_NONE, /* it was not asked yet */
	ANSWER_CONNECTED,
	ANSWER_REFUSED,
	ANSWER_SILENT,
};

/* Rounds of silence that count, and ns for each. */
#define VERDICT_ROUNDS 3
#define VERDICT_PATIENCE (200 * STORM_MS)
/* A host that lives answers within so many ns: nobody is told before. */
#define VERDICT_HOLD (20 * STORM_MS)

struct verdict_case {
	/* It was never heard.  So nobody waits to call it suspect: until it is good,
	 * it is not (a new strober's first word). */
	bool never;
	bool heard; /* it gives signs of life again */
	bool gone; /* its agent says that its slurmd does not run, or is stopped */
	/* It gives signs of life all the same.  So it is not dead, even if no port
	 * answers. */
	bool signs;
	enum verdict_answer slurmd, agent; /* the last ones */
	uint32_t rounds;		   /* of silence, in a row */
	uint64_t since;			   /* ns since it was found */
	uint16_t state; /* the last verdict's: 0 or enum strober_state */
};

/* The node's state: 0 if nothing is wrong, or not known to be; else STROBER_SUSPECT, or
 * STROBER_FOUND and *cause. */
uint16_t verdict_of(const struct verdict_case *c, uint16_t *cause);

#endif
