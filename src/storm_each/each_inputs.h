/*
 * each_inputs.h - from the words of the command line to the command and its sources.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_INPUTS_H
#define STORM_EACH_INPUTS_H

#include "each_options.h"

/* What is only needed while options are parsed. */
struct each_parsing {
	struct each_options *o;
	const char *arg_sep, *file_sep; /* ::: and :::: */
	bool trimmed, context;		/* --trim; -X or --max-replace-args */
};

/* -a.  False: it was said why. */
bool each_inputs_file(struct each_parsing *p, const char *path);

/* The words behind the options.  False: it was said why. */
bool each_inputs_split(struct each_parsing *p, char **words);

#endif
