/*
 * top_json.h - what storm top shows, as JSON.  Without Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TOP_JSON_H
#define STORM_TOP_JSON_H

#include <stdio.h>

#include "top_layout.h"

/* Print one object on a line.  False: there is no memory. */
bool top_json(FILE *f, const struct top_view *v);

#endif
