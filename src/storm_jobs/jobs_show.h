/*
 * jobs_show.h - jobs that share cores, as a table and as JSON.  No Slurm header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_JOBS_SHOW_H
#define STORM_JOBS_SHOW_H

#include <stdio.h>

#include <json-c/json.h>

#include "jobs_model.h"

/* Which jobs are printed. */
struct jobs_wish {
	bool all;	  /* also those that share nothing */
	char *const *ids; /* if nids: these alone */
	unsigned int nids;
};

/* Print them; *shown is how many.  Returns: is something wrong with one of them? */
bool jobs_show_text(FILE *f, const struct jobs *j, const struct jobs_wish *w,
		    uint32_t *shown);
bool jobs_show_json(FILE *f, const struct jobs *j, const struct jobs_wish *w,
		    uint32_t *shown);
/* What the latter prints (json_object_put). */
json_object *jobs_json_list(const struct jobs *j, const struct jobs_wish *w,
			    uint32_t *shown, bool *wrong);

#endif
