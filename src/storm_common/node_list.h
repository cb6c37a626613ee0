/*
 * node_list.h - the nodes of slurm.conf as it is now, for a daemon that read it
 * when it started.
 *
 * Slurm's own function to read the file again ends the process if a line does
 * not parse, and an administrator may be half through an edit.  It also frees
 * strings that other threads read.  So a child reads the file (the same
 * program, with --nodes), and only a whole answer counts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_NODE_LIST_H
#define STORM_NODE_LIST_H

#include <stdbool.h>

/* Read slurm.conf in a child, for which it waits a few seconds at most.  False:
 * that failed, which is logged, and the nodes known before still count.  One
 * thread at a time. */
bool node_list_renew(void);

/* A node's BcastAddr or NodeAddr in that file, which the caller frees with
 * xfree().  NULL: the file has no such node, or was not read.  Any thread. */
char *node_list_address(const char *name);

/* Was the file read, and has it no such node?  Any thread. */
bool node_list_lacks(const char *name);

/* In the child: write the list, and exit. */
void node_list_run(void) __attribute__((noreturn));

#endif
