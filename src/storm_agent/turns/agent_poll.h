/*
 * agent_poll.h - binds the agent to AgentCPUs, and polls for strobes there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_POLL_H
#define STORM_AGENT_POLL_H

#include <stdint.h>

struct agent;

/* Without AgentCPUs none of these does anything.  Call start() before any
 * thread starts. */
void agent_poll_start(struct agent *a);
void agent_poll_stop(struct agent *a);
/* Expect the next strobe a quantum (ns) after `heard`, when the last one came
 * (storm_now()). */
void agent_poll_expect(struct agent *a, uint64_t heard, uint64_t quantum);

/* A descriptor that becomes readable when a strobe is near; -1: none.  The
 * thread that takes strobes waits for it, too. */
int agent_poll_fd(const struct agent *a);
/* agent_poll_fd() is readable: call serve(arg) again and again until a strobe
 * has come, or is late. */
void agent_poll_wait(struct agent *a, void (*serve)(void *arg), void *arg);
/* Have the main loop poll, where it takes the strobes.  0, or -1 and errno. */
int agent_poll_by_main_loop(struct agent *a);

#endif
