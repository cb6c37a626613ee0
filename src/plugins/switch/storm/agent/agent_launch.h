/*
 * agent_launch.h - the launch message, to this node's slurmd.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_LAUNCH_H
#define STORM_AGENT_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

struct agent;
struct agent_session;

/* A LAUNCH has come. */
void agent_launch(struct agent_session *s, const void *buf, size_t len,
		  uint64_t now);
/* When to call again. */
uint64_t agent_launch_tick(struct agent *a, uint64_t now);
void agent_launch_session_close(struct agent_session *s);

#endif
