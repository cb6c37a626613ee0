/*
 * px_tree.c - see px_tree.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "px_tree.h"

#define OPEN 16 /* directories at a time */

static int px_tree_one(const char *path, const struct stat *st, int kind,
		       struct FTW *where)
{
	(void) st;
	(void) kind;
	(void) where;
	remove(path);
	return 0;
}

void px_tree_remove(const char *path)
{
	nftw(path, px_tree_one, OPEN, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
