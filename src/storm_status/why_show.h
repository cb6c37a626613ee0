/*
 * why_show.h - what agents keep of the steps that Slurm launched in STORM's place, as
 * text and as JSON.  Without Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_WHY_SHOW_H
#define STORM_WHY_SHOW_H

#include <stdio.h>

#include <json-c/json.h>

#include "status_ask.h"

/* How many steps found no room in the answer. */
uint64_t why_more(const struct status_answer *a);
/* Print the steps, the newest first.  Returns how many they are. */
uint32_t why_show_text(FILE *f, const struct status_nodes *n,
		       const struct status_answer *a);
/* Add an object for each. */
uint32_t why_show_json(json_object *list, const struct status_nodes *n,
		       const struct status_answer *a);

/* s since 1970 as local time. */
struct why_when {
	char text[32];
};
struct why_when why_when(uint64_t at);

#endif
