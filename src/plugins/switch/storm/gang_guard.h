/*
 * gang_guard.h - slurmd's promise that no step stands still because of an agent
 * that is dead or does not get on (architecture: the house, 6).  One thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_GUARD_H
#define STORM_GANG_GUARD_H

#include <stdbool.h>

/*
 * Look after the steps of this node: if the agent is gone, or late while some
 * stand still, all of them go on.  Returns when to look again, in ms.
 */
int gang_guard_look(const char *node, bool agent_gone);
void gang_guard_end(void);

#endif
