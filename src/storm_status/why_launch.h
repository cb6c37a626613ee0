/*
 * why_launch.h - what agents keep of the steps that STORM launched: the phases of one
 * beside the medians of all that are known, as text and as JSON.  Without Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_WHY_LAUNCH_H
#define STORM_WHY_LAUNCH_H

#include <stdio.h>

#include <json-c/json.h>

#include "src/storm_common/fallback_word.h"
#include "src/storm_common/launch_record.h"
#include "status_ask.h"
#include "status_facts.h"

#define WHY_LAST 100 /* launches of which the medians are */

/* One step, as its srun and the node that keeps it say. */
struct why_launch {
	struct status_word step; /* JOB.STEP, or JOB.STEP+COMPONENT */
	uint64_t at;		 /* s since 1970 */
	uint32_t uid;		 /* whose srun it was */
	struct launch_record r;
	const char *node; /* of the status_nodes */
};

/* The newest first, each step once. */
struct why_launches {
	struct why_launch *one; /* free */
	uint32_t count;
	/* us, of the last WHY_LAST; a part that did not happen is 0; [LAUNCH_PARTS]:
	 * of the whole launch */
	uint32_t median[LAUNCH_PARTS + 1];
	uint32_t of; /* how many these are */
};

/* How many each of so many nodes is asked for by STATE_LAUNCHED_LAST, so that the table
 * has room for all, where nodes are few enough. */
uint32_t why_launches_each(uint32_t nodes);

/* Read what was answered to STATE_LAUNCHED and to STATE_LAUNCHED_LAST, each of which may
 * have nothing; others' entries are ignored. */
struct why_launches why_launches_read(const struct status_nodes *n,
				      const struct status_answer *own,
				      const struct status_answer *last);
void why_launches_clear(struct why_launches *l);

/* Print those that are asked for: of a job or step as a chart, else the last 10 with a
 * line each.  Returns how many they are. */
uint32_t why_launches_text(FILE *f, const struct why_launches *l,
			   const struct fallback_which *which);
/* Add an object for each of those that are asked for, or of the last WHY_LAST. */
uint32_t why_launches_json(json_object *list, const struct why_launches *l,
			   const struct fallback_which *which);

#endif
