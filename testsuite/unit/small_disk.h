/*
 * small_disk.h - a disk of 4 KiB for a test, which other processes do not see.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef SMALL_DISK_H
#define SMALL_DISK_H

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>

#include "unit.h"

/* Mount it at dir.  False: only root can; the test says SKIP. */
static inline bool small_disk(const char *dir)
{
	if (unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("small", dir, "tmpfs", 0, "size=4k")) {
		fprintf(stderr, "SKIP: no disk of 4 KiB: not root\n");
		return false;
	}
	return true;
}

/* Write a file: all of the disk, or another one's text. */
static inline void put_file(const char *path, const void *text, size_t len)
{
	FILE *f = fopen(path, "we");

	must(f && fwrite(text, 1, len, f) == len && !fclose(f));
}

#endif
