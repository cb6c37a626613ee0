/*
 * agent_nm.h - the Node Manager and its network in the agent: what it asks for is
 * handed to the parts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_NM_H
#define STORM_AGENT_NM_H

struct agent;

/* Open the port; the main loop serves it.  0, or -1, errno, and the reason was
 * logged. */
int agent_nm_start(struct agent *a);
/* Close every session; the parts are still there. */
void agent_nm_stop(struct agent *a);
/* Close the port, when nothing sends any more. */
void agent_nm_close(struct agent *a);

#endif
