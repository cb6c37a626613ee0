/*
 * agent_nm.h - connects libstorm's Node Manager and its network to the parts of
 * the agent.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_NM_H
#define STORM_AGENT_NM_H

struct agent;

/* Open the port, and serve it in the main loop.  0; or -1 and errno, and the
 * reason is in the log. */
int agent_nm_start(struct agent *a);
/* Close all sessions.  Call it before the parts stop. */
void agent_nm_stop(struct agent *a);
/* Close the port.  Call it after all parts have stopped. */
void agent_nm_close(struct agent *a);

#endif
