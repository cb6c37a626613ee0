/*
 * agent_message.h - the little of Slurm's messages that an agent reads: what it
 * passes to its slurmd, and what slurmd answers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_MESSAGE_H
#define STORM_AGENT_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent_step;

/* Are these bytes one launch message and nothing else? */
bool agent_message_is_launch(const uint8_t *msg, size_t len);

/* Are these bytes one message that signals the tasks of this step, and nothing
 * else?  No other step, and no flag that would signal more than a step. */
bool agent_message_is_signal(const uint8_t *msg, size_t len,
			     const struct agent_step *step);

/* The return code in slurmd's answer to either; *text, which is in buf, is what
 * slurmd adds, or NULL.  False: it is no such answer. */
bool agent_message_rc(const uint8_t *buf, size_t len, uint32_t *rc,
		      const char **text);

#endif
