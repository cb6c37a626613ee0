/*
 * agent_state.h - this node's part of what storm status gathers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_STATE_H
#define STORM_AGENT_STATE_H

#include <stddef.h>

#include "src/libstorm/storm.h"

struct agent;
struct agent_session;

/* Put what the session's user may see of this node, if that is the question.  It does
 * not block. */
void agent_state(struct agent *a, const struct agent_session *s,
		 const void *query, size_t len, storm_gather_t *own);

#endif
