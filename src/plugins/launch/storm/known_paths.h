/*
 * known_paths.h - remembers, for some minutes, nodes that this user's commands
 * could not reach from this host, so that Slurm serves the next command at
 * once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_KNOWN_PATHS_H
#define STORM_KNOWN_PATHS_H

#include "src/libstorm/storm.h"

/* A path between two nodes, and the fault that libstorm had of it. */
struct known_path {
	long since; /* s, realtime */
	int why, sys;
	unsigned int port; /* of the node */
	char node[STORM_NAME_MAX + 1];
	char from[STORM_NAME_MAX + 1]; /* the other end; "-": this host */
};

/* Set *out to the paths that are known (xfree).  Returns how many there are. */
uint32_t known_paths_load(struct known_path **out);
void known_paths_add(const struct known_path *k, uint32_t count);

/* Is any path known, while no check is due? */
bool known_paths_certain(void);
/* Is it time for a check?  True: the caller makes it, and no other command
 * does. */
bool known_paths_take_check(void);
/* All nodes of this list, in Slurm's form, can be reached: forget their
 * paths. */
void known_paths_forget(const char *nodelist);

#endif
