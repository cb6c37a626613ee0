/*
 * agent_launch.h - delivers the launch message, and signals for the step, to this
 * node's slurmd.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_LAUNCH_H
#define STORM_AGENT_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

struct agent;
struct agent_session;

/* Deliver the message of an event LAUNCH, which is copied: {reserved, bytes for
 * slurmd}, see step_protocol.h. */
void agent_launch(struct agent_session *s, const void *buf, size_t len,
		  uint64_t now);
/* Deliver the message of an event SIGNAL, which is copied: {order, bytes for
 * slurmd}.  One that has an old number is ignored. */
void agent_launch_signal(struct agent_session *s, const void *buf, size_t len,
			 uint64_t now);
/* Keep the times of an event LAUNCHED, if the session may tell them. */
void agent_launch_told(struct agent_session *s, const void *buf, size_t len);
/* Look up the address on which slurmd listens, if that is only the node's. */
void agent_launch_look(struct agent *a);
/* Connect to slurmd, or try again.  Returns when to call again, or
 * STORM_NEVER. */
uint64_t agent_launch_tick(struct agent *a, uint64_t now);
/* Abandon the session's launches. */
void agent_launch_session_close(struct agent_session *s);

#endif
