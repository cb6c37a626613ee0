/*
 * agent_answer.h - answers that the Node Manager gets from the main loop: it must
 * not be called from inside its own question.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_ANSWER_H
#define STORM_AGENT_ANSWER_H

#include <stdint.h>

#include "src/libstorm/protocol/nm/nm.h"

enum agent_answer_kind { ANSWER_BEGUN, ANSWER_STAGED, ANSWER_APPLIED };

/* Those that wait, in order. */
struct agent_answers {
	struct agent_answer *first, **end;
};

void agent_answer_init(struct agent_answers *s);
void agent_answer_add(struct agent_answers *s, enum agent_answer_kind kind,
		      uint64_t session, uint64_t op, int err, int sys);
/* Give all of them to the Node Manager. */
void agent_answer_give(struct agent_answers *s, struct storm_nm *nm);

#endif
