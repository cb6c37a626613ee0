/*
 * agent_ask.h - what the command storm_agent asks of the agent that runs on this
 * machine, and of the trace that one has left.
 *
 * Each prints the answer, or what is wrong, and returns the command's exit status.
 * node NULL: the only one that has a directory here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_ASK_H
#define STORM_AGENT_ASK_H

int agent_ask_stats(const char *node);
/* from: the first event's number as text; NULL: the oldest. */
int agent_ask_trace(const char *node, const char *from);
/* seed NULL: 1. */
int agent_ask_drop(const char *node, const char *percent, const char *seed);

#endif
