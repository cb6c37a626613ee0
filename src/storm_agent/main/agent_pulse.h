/*
 * agent_pulse.h - this node's signs of life in the cluster domain, from a thread
 * of their own with a real-time priority (program/pulse_thread.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_PULSE_H
#define STORM_AGENT_PULSE_H

#include <stdint.h>

struct agent;

/* After the network has started.  Without the thread, which is logged, the main
 * loop gives the signs. */
void agent_pulse_start(struct agent *a);
void agent_pulse_stop(struct agent *a);
/* The cluster domain's session, by the Node Manager's number; 0: none. */
void agent_pulse_session(struct agent *a, uint64_t session);
/* At each turn of the main loop: it lives, and this is what the thread must know
 * of the session. */
void agent_pulse_exchange(struct agent *a);

#endif
