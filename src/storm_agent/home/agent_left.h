/*
 * agent_left.h - agents that SIGKILL did not end.  Such a process hangs in the
 * kernel, mostly on a disk, and never returns to user mode.  It does nothing any
 * more, so the next agent may start beside it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_LEFT_H
#define STORM_AGENT_LEFT_H

#include <stdbool.h>
#include <sys/types.h>

/* Leave the agent of this node behind, and log its state.  Takes over pidfd.
 * Removes its local socket, so that the next agent can make its own. */
void agent_left_add(const char *node, pid_t pid, int pidfd, bool child);
/* Wait for those that have ended meanwhile. */
void agent_left_bury(void);
/* True: so many are left that no other agent should start. */
bool agent_left_full(void);

#endif
