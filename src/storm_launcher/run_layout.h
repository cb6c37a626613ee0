/*
 * run_layout.h - which node of a run has which ranks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_LAYOUT_H
#define STORM_RUN_LAYOUT_H

#include <stdint.h>

#include "src/libstorm/storm.h"

/*
 * As srun does it: each node in turn gets a task, if it has a CPU left, until all are
 * given; ranks go from node to node.  The rank of the first task of each node, and at
 * the end the number of tasks, which the caller frees.  NULL: the CPUs are too few, or a
 * node has none, or there is no memory.
 */
uint32_t *run_layout(const uint32_t *cpus, uint32_t nodes, uint32_t tasks);
/* The place of a node in a set of nodes, or UINT32_MAX. */
uint32_t run_place(const struct storm_idset *nodes, uint32_t node);

#endif
