/*
 * agent_health.h - is this node well?  A process of its own checks that (health_keeper.h).
 * Its parent, storm_minder, starts it again if it dies, by the contract of child_watch.h,
 * or when the agent has heard nothing for long.  The agent says it to the owner of each
 * domain by an own variable.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_HEALTH_H
#define STORM_AGENT_HEALTH_H

#include <stdint.h>

struct agent;
struct agent_session;

/* Start storm_minder.  Call it before capabilities are dropped: the site's program is
 * root's.  Without it this node seems well, which is logged. */
void agent_health_start(struct agent *a);
void agent_health_stop(struct agent *a);
/* When storm_health must have said something.  Times are ns. */
uint64_t agent_health_tick(struct agent *a, uint64_t now);

/* A session is open: say it there.  A step is told once, what is so as it begins. */
void agent_health_session(const struct agent_session *s);

/* In the new program: be storm_minder.  slurmd_port: 0: the one in slurm.conf. */
_Noreturn void agent_health_run(const char *node, uint16_t slurmd_port);

#endif
