/*
 * node_state.h - what slurmctld's state of a node says of its presence.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_NODE_STATE_H
#define STORM_SLURM_NODE_STATE_H

#include <stdbool.h>

#include "src/slurmctld/slurmctld.h"

#ifndef IS_NODE_EXTERNAL /* from 25.05 on: a node without a slurmd */
#define IS_NODE_EXTERNAL(n) false
#endif

/* Is it no host that stays: a cloud's, a dynamic one, one of the future?  The caller
 * holds slurmctld's node lock. */
static inline bool node_state_comes_and_goes(const node_record_t *n)
{
	return IS_NODE_FUTURE(n) || IS_NODE_CLOUD(n) ||
	       IS_NODE_DYNAMIC_FUTURE(n) || IS_NODE_DYNAMIC_NORM(n) ||
	       IS_NODE_EXTERNAL(n);
}

/* Is it known, or Slurm's own doing, that no slurmd answers there?  The caller holds
 * slurmctld's node lock. */
static inline bool node_state_is_away(const node_record_t *n)
{
	return IS_NODE_FUTURE(n) || IS_NODE_DOWN(n) || IS_NODE_POWER_DOWN(n) ||
	       IS_NODE_POWERED_DOWN(n) || IS_NODE_POWERING_DOWN(n) ||
	       IS_NODE_POWERING_UP(n) || IS_NODE_REBOOT_ISSUED(n);
}

#endif
