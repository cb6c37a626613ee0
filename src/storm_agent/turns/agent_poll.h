/*
 * agent_poll.h - bind the agent to AgentCPUs, and poll for strobes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_POLL_H
#define STORM_AGENT_POLL_H

#include <stdint.h>

struct agent;

/* Without AgentCPUs these do nothing.  Call it before any thread starts. */
void agent_poll_start(struct agent *a);
void agent_poll_stop(struct agent *a);
/* heard: when the last strobe came (storm_now()); the next one is due a quantum
 * (ns) later. */
void agent_poll_expect(struct agent *a, uint64_t heard, uint64_t quantum);

/* The thread that takes strobes waits for this descriptor, too; -1: none. */
int agent_poll_fd(const struct agent *a);
/* It is readable: call serve(arg) until a strobe has come, or is late. */
void agent_poll_wait(struct agent *a, void (*serve)(void *arg), void *arg);
/* The main loop takes strobes, so it polls.  0, or -1 and errno. */
int agent_poll_by_main_loop(struct agent *a);

#endif
