/*
 * known_paths.h - nodes that this user's commands could not reach from this host
 * some minutes ago: the next command goes round them at once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_KNOWN_PATHS_H
#define STORM_KNOWN_PATHS_H

#include "src/libstorm/storm.h"

/* A fault of libstorm's, of the path between two nodes. */
struct known_path {
	long since; /* s, realtime */
	int why, sys;
	unsigned int port; /* of the node */
	char node[STORM_NAME_MAX + 1];
	char from[STORM_NAME_MAX + 1]; /* the other end; "-": this host */
};

/* Those that are known (xfree); returns how many. */
uint32_t known_paths_load(struct known_path **out);
void known_paths_add(const struct known_path *k, uint32_t count);

/* Is any known, and no check due? */
bool known_paths_certain(void);
/* True: it is time for a check, and nobody else takes it. */
bool known_paths_take_check(void);
/* All of these, in Slurm's list, can be reached. */
void known_paths_forget(const char *nodelist);

#endif
