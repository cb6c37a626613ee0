/*
 * each_name.h - replacement strings: where they are in a text, and which part of an
 * argument they mean.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_NAME_H
#define STORM_EACH_NAME_H

#include <stdint.h>

#include "each_options.h"

struct each_found {
	enum each_name name;
	int32_t position; /* {3} has 3, {-1} has -1; 0: all arguments */
	size_t len;	  /* of the replacement string */
};

/* How many bytes are before the first replacement string; len: there is none. */
size_t each_name_find(const struct each_options *o, const char *text,
		      size_t len, struct each_found *out);

/* Bytes of an argument, or of "." or "/". */
struct each_part {
	const char *from;
	size_t len;
};

struct each_part each_name_part(enum each_name name, const char *arg);

#endif
