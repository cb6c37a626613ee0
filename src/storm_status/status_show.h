/*
 * status_show.h - what agents have answered, as text or JSON.  No I/O but the output.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STATUS_SHOW_H
#define STORM_STATUS_SHOW_H

#include <stdio.h>

#include <json-c/json.h>

#include "status_facts.h"

/* True: something is wrong. */
bool status_show_text(FILE *f, const struct status_nodes *n,
		      const struct status_answer *a, uint16_t port);
bool status_show_json(FILE *f, const struct status_nodes *n,
		      const struct status_answer *a, uint16_t port);
/* What that prints (json_object_put). */
json_object *status_json(const struct status_nodes *n,
			 const struct status_answer *a, uint16_t port);

#endif
