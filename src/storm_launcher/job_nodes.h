/*
 * job_nodes.h - which of its nodes a job still has, by what slurmctld says of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_JOB_NODES_H
#define STORM_JOB_NODES_H

#include "src/libstorm/storm.h"

/* The nodes of "scontrol --oneliner show job", as a list of names; false: it is none.  The
 * text is changed. */
bool job_nodes_read(char *text, const char **list);
/* Keep the CPUs of those of n nodes, which have names, that are in the list: how many these
 * are.  0: there are none, or one is not among the n. */
uint32_t job_nodes_keep(const char *list, const struct storm_node *nodes,
			uint32_t n, uint32_t *cpus);

#endif
