/*
 * agent_local.h - the agent's side of the local socket (local.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_LOCAL_H
#define STORM_AGENT_LOCAL_H

#include <stdint.h>

struct agent;
struct agent_session;
struct storm_idset;

/* Listen, and serve connections.  0; or -1 and errno, and the reason is in the
 * log. */
int agent_local_start(struct agent *a);
void agent_local_stop(struct agent *a);

/* Tell slurmd to look at the page, if gang scheduling wants that.  Returns
 * STORM_NEVER. */
uint64_t agent_local_tick(struct agent *a, uint64_t now);

/* The owner has these reports: notify the slurmstepds that sent them. */
void agent_local_acked(struct agent_session *s, uint8_t kind,
		       const struct storm_idset *ids);
/* Notify slurmstepds that their session is over. */
void agent_local_session_close(struct agent_session *s);

#endif
