/*
 * agent_ask.h - the queries of the command storm_agent(8): to the agent that
 * runs on this host, and to the trace that an agent has left.
 *
 * Each prints the answer or an error, and returns the command's exit status.
 * node NULL: the only node that has an agent here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_ASK_H
#define STORM_AGENT_ASK_H

/* Print the counters as JSON. */
int agent_ask_stats(const char *node);
/* Print the trace.  from: the first event's number, as text; NULL: the
 * oldest. */
int agent_ask_trace(const char *node, const char *from);
/* Have the agent drop datagrams.  percent, seed: as text; seed NULL: 1. */
int agent_ask_drop(const char *node, const char *percent, const char *seed);

#endif
