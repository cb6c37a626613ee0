/*
 * failed.h - what slurmctld does about nodes with which something is wrong, by the
 * strober's word: jobs are told, steps are given up, nodes are drained and resumed.
 * failed_rules.h says which of that and when.
 *
 * The thread of gang.c alone calls these functions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FAILED_H
#define STORM_FAILED_H

#include "failed_rules.h"
#include "failed_steps.h"
#include "snapshot.h"
#include "src/storm_common/health_word.h"

struct failed_node {
	struct failed_view v;
	struct failed_memory m;
	const char *word;	  /* for its Extra, or NULL */
	enum health_cause health; /* for its Extra, too: why it is not well */
	enum health_cause logged; /* what the log says of that */
};

/* Initialize it to zeroes. */
struct failed {
	struct failed_node *node; /* in the snapshot's order */
	uint32_t nnodes;
	bool many;	  /* too many have failed, and that was logged */
	uint64_t many_at; /* ns; when so many had failed last */
	uint64_t look_at; /* ns; when to look though there is no news */
	struct strober_failed *list; /* the strober's last word */
	int count;
	struct failed_given given;
	bool loaded; /* given has what an earlier slurmctld kept */
};

void failed_clear(struct failed *f);
/* The snapshot has other nodes than before. */
void failed_new_nodes(struct failed *f, const struct snapshot *s);

/* Take the strober's last word, and act.  Takes slurmctld's read locks for a moment
 * while something is wrong, its write locks when something is done.  True: a node has
 * another word than before. */
bool failed_look(struct failed *f, const struct snapshot *s,
		 const struct storm_gang_conf *conf);

#endif
