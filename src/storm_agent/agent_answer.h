/*
 * agent_answer.h - a queue of answers to the Node Manager.  The main loop
 * delivers them, because a callback of the Node Manager must not call it back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_ANSWER_H
#define STORM_AGENT_ANSWER_H

#include <stdint.h>

#include "src/libstorm/protocol/nm/nm.h"

/* WRITTEN is for writes that failed; the others are answered at once. */
enum agent_answer_kind {
	ANSWER_BEGUN,
	ANSWER_WRITTEN,
	ANSWER_STAGED,
	ANSWER_APPLIED
};

/* First in, first out. */
struct agent_answers {
	struct agent_answer *first, **end;
};

void agent_answer_init(struct agent_answers *s);
/* err: enum storm_err; sys: errno beside it, or 0. */
void agent_answer_add(struct agent_answers *s, enum agent_answer_kind kind,
		      uint64_t session, uint64_t op, int err, int sys);
/* Deliver all answers to the Node Manager, also those that this adds. */
void agent_answer_give(struct agent_answers *s, struct storm_nm *nm);

#endif
