/*
 * px_tree.h - remove what storm_pmix and ranks of PMIx leave in a directory of their own:
 * storm_pmix does it, and its launcher where it cannot any more.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PX_TREE_H
#define STORM_PX_TREE_H

/* The directory and all below it, following no link.  What cannot be removed stays, and
 * nobody hears so.  Not thread-safe with fork(2). */
void px_tree_remove(const char *path);

#endif
