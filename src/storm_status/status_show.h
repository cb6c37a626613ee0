/*
 * status_show.h - what agents have answered, as text or JSON.  No I/O but the output.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STATUS_SHOW_H
#define STORM_STATUS_SHOW_H

#include <stdio.h>

#include "status_ask.h"

/* Another host's words, in printable ASCII. */
struct status_word {
	char text[STORM_GATHER_DATA + 1];
};

/* A value; a key. */
struct status_word status_word_of(const struct storm_gather_entry *e);
struct status_word status_key_of(const struct storm_gather_entry *e);

/* How many nodes are silent. */
uint32_t status_silent(const struct status_nodes *n);

/* True: something is wrong. */
bool status_show_text(FILE *f, const struct status_nodes *n,
		      const struct status_answer *a, uint16_t port);
bool status_show_json(FILE *f, const struct status_nodes *n,
		      const struct status_answer *a, uint16_t port);

#endif
