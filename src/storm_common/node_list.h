/*
 * node_list.h - the nodes of slurm.conf as it is now, for a daemon that read it
 * when it started.
 *
 * Slurm's own way to read the file again ends the process if a line does not parse:
 * an administrator may be half through an edit.  It also frees strings that other
 * threads read.  So a child reads it (the same program, with --nodes), and only a
 * whole answer counts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_NODE_LIST_H
#define STORM_NODE_LIST_H

#include <stdbool.h>

/* Read slurm.conf in a child.  It waits for that, a few seconds at most.  False: the
 * nodes stay those that were known, which is logged.  One thread at a time. */
bool node_list_renew(void);

/* A node's BcastAddr or NodeAddr in that file (xfree); NULL: it has no such node, or
 * was not read.  Any thread. */
char *node_list_address(const char *name);

/* The file was read, and has no such node.  Any thread. */
bool node_list_lacks(const char *name);

/* The child: write the list, and exit. */
void node_list_run(void) __attribute__((noreturn));

#endif
