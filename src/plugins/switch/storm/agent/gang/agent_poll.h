/*
 * agent_poll.h - bind to AgentCPUs, and wait awake for strobes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_POLL_H
#define STORM_AGENT_POLL_H

#include <stdint.h>

struct agent;

/* Without AgentCPUs none of these does anything. */
void agent_poll_start(struct agent *a);
void agent_poll_stop(struct agent *a);
/* The next strobe is due a quantum (ns) after one was heard (storm_now()). */
void agent_poll_expect(struct agent *a, uint64_t heard, uint64_t quantum);

#endif
