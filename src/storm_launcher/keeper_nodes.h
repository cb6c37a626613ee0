/*
 * keeper_nodes.h - which nodes a job has: those of its environment, or, where it goes on
 * without some that have failed (sbatch -k), those that are left.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_KEEPER_NODES_H
#define STORM_KEEPER_NODES_H

#include <stddef.h>

#include "run_wire.h"

/* Set the job, its nodes, which have no names yet, and their CPUs.  False, and why. */
bool keeper_nodes_init(struct run_step *s, char *why, size_t size);
/* Ask slurmctld, and forget those that the job does not have any more.  True: there are
 * some. */
bool keeper_nodes_lose(struct run_step *s);

#endif
