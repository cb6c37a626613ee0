/*
 * run_names.h - lists of nodes by name, as srun(1) takes and gives them: n[1-3,7],m2.
 * The nodes are those of a job, in its order.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_NAMES_H
#define STORM_RUN_NAMES_H

#include "src/libstorm/storm.h"

/* The nodes that a list names; those that the job does not have are in *unknown, if it
 * is not NULL: the first one, or "".  False, and why: it is no list of names, or there
 * is no memory; *out is empty then. */
bool run_names_read(const char *list, const struct storm_node *nodes,
		    uint32_t count, struct storm_idset *out,
		    char (*unknown)[STORM_NAME_MAX + 1], const char **why);

/* Give one() each name that a list has, in its order, until it says no.  False: it did, or
 * that is no list of names. */
bool run_names_each(const char *list, bool (*one)(void *arg, const char *name),
		    void *arg);

/* The list of a set of them, which the caller frees.  NULL: no memory. */
char *run_names_text(const struct storm_node *nodes,
		     const struct storm_idset *set);

/* "2(x3),1": how many tasks each node has, by run_layout()'s ranks.  The caller frees
 * it.  NULL: no memory. */
char *run_counts_text(const uint32_t *rank, uint32_t nodes);

#endif
