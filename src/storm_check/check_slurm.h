/*
 * check_slurm.h - what slurm.conf and plugstack.conf say, read without Slurm: its
 * library may be what is missing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_SLURM_H
#define STORM_CHECK_SLURM_H

#include <stdbool.h>

/* Find and read the slurm.conf that Slurm's programs read here, with the files that
 * it includes.  False: there is none, which was told. */
bool slurm_file_read(void);
/* Where it is, or NULL.  It need not be read. */
const char *slurm_file_find(void);
/* The path of the one that was read, or NULL. */
const char *slurm_file_path(void);
/* A file beside it, or NULL.  The caller frees it. */
char *slurm_file_beside(const char *name);
/* The last value of a key that has a line of its own, or NULL. */
const char *slurm_file_value(const char *key);
/* Do jobs share processors in any partition? */
bool slurm_file_shares(void);

/* plugstack.conf, or NULL: it cannot be read.  The caller frees it. */
char *slurm_plugstack_path(void);
/* How it, or a file that it includes, loads a plugin: "optional", "required", or NULL. */
const char *slurm_plugstack_loads(const char *path, const char *plugin);

#endif
