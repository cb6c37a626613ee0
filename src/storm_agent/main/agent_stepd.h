/*
 * agent_stepd.h - a slurmstepd that dies before its tasks do.  Slurm notices it
 * nowhere: the tasks go on without a parent, srun waits for their ends, and slurmctld
 * keeps the step.  The agent ends the tasks, and says it to both.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_STEPD_H
#define STORM_AGENT_STEPD_H

#include <stdint.h>

struct agent;
struct agent_session;
struct agent_stepd;
struct storm_idset;

/*
 * Watch the slurmstepd at the other end of a local connection, whose reports belong
 * to this session, and which is the step's node number `node`.  The agent owns it, and
 * forgets it when slurmstepd or its connection ends.  drain() reads what it said before
 * its end.  NULL: it cannot be watched.
 */
struct agent_stepd *
agent_stepd_watch(struct agent_session *s, int sock, uint32_t node,
		  void (*drain)(struct agent *a, const struct agent_stepd *d));

/* It has reported the start (code 0) or the end of these tasks, by agent_local.c.
 * d NULL: nobody is watched. */
void agent_stepd_told(struct agent_stepd *d, uint8_t kind, uint32_t code,
		      const struct storm_idset *ids);

/* Its connection or session has ended, and d is not valid any more.  If slurmstepd
 * lives, its messages go to srun themselves from now on. */
void agent_stepd_closed(struct agent_stepd *d);

/* Watch none any more. */
void agent_stepd_stop(struct agent *a);

#endif
