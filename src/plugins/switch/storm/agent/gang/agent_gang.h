/*
 * agent_gang.h - this node takes part in gang scheduling.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_GANG_H
#define STORM_AGENT_GANG_H

#include <stddef.h>
#include <stdint.h>

struct agent;
struct agent_session;

/* agent_gang.c */
int agent_gang_start(struct agent *a);
void agent_gang_stop(struct agent *a);
void agent_gang_session_open(struct agent_session *s);
void agent_gang_session_close(struct agent_session *s);
void agent_gang_event(struct agent_session *s, uint32_t event,
		      const void *buf, size_t len);
/* When to call again. */
uint64_t agent_gang_tick(struct agent *a, uint64_t now);

/* agent_gang_turns.c */
void agent_gang_strobe(struct agent *a, struct agent_session *s,
		       uint64_t number, const void *buf, size_t len);
void agent_gang_no_slurmd(struct agent *a);
/* This process has stood still. */
void agent_gang_returned(struct agent *a);

#endif
