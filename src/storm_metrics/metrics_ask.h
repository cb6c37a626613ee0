/*
 * metrics_ask.h - one query to the agents of all nodes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_METRICS_ASK_H
#define STORM_METRICS_ASK_H

#include "metrics_model.h"

/* Ask those of the list, or of slurm.conf if it is NULL.  *names: who has answered, as
 * metrics_names() has it (free), or NULL.  False: not out->answered, which was said on
 * standard error.  out->at and took are there in any case. */
bool metrics_ask(const char *list, struct metrics *out, char **names);

#endif
