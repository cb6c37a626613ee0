/*
 * agent_nursery.h - starts the nursery and its keeper (file_nursery.h), and
 * watches the keeper by pidfd.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_NURSERY_H
#define STORM_AGENT_NURSERY_H

struct agent;

/* Start both.  Call it before capabilities are dropped, and before
 * agent_poll_start(): the nursery keeps the CPUs that the agent has now.  0; or
 * -1, and the reason is in the log. */
int agent_nursery_start(struct agent *a);
void agent_nursery_stop(struct agent *a);

/* In the new program: be the nursery of this node's agent. */
_Noreturn void agent_nursery_run(const char *node);

#endif
