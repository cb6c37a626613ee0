/*
 * status_ask.h - ask the agents of nodes by one gather.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STATUS_ASK_H
#define STORM_STATUS_ASK_H

#include "src/storm_common/storm_conf.h"
#include "status_nodes.h"

/* What the agents have answered. */
struct status_answer {
	struct storm_gathered table; /* numbers of nodes are indexes into asked */
	uint32_t *asked;	     /* indexes into the nodes (xfree) */
	uint32_t count;
	struct storm_stats stats; /* what it cost the asker */
};

/* Those that do not answer are marked silent.  STORM_OK, also if nobody is there to ask.
 * Else nothing was gathered: why this host can ask nobody, or why the last try failed, as
 * so many do not answer that those who would were not found in time. */
int status_ask(struct status_nodes *n, const struct storm_conf *c,
	       const char *query, struct status_answer *out);
void status_answer_clear(struct status_answer *a);

#endif
