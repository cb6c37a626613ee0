/*
 * check_slurm.h - reads slurm.conf and plugstack.conf without Slurm's library,
 * which may be what is missing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_SLURM_H
#define STORM_CHECK_SLURM_H

#include <stdbool.h>

/* Find and read the slurm.conf that Slurm's programs read here, with the files
 * that it includes.  False: there is none, which was told. */
bool slurm_file_read(void);
/* The path of slurm.conf, which need not have been read, or NULL. */
const char *slurm_file_find(void);
/* The path of the slurm.conf that was read, or NULL. */
const char *slurm_file_path(void);
/* The path of a file beside it, which the caller frees; or NULL. */
char *slurm_file_beside(const char *name);
/* The last value of a key that has a line of its own, or NULL. */
const char *slurm_file_value(const char *key);
/* Do jobs share processors in any partition? */
bool slurm_file_shares(void);

/* The path of plugstack.conf, which the caller frees.  NULL: it cannot be
 * read. */
char *slurm_plugstack_path(void);
/* How this plugstack.conf, or a file that it includes, loads a plugin:
 * "optional" or "required"; NULL: it does not. */
const char *slurm_plugstack_loads(const char *path, const char *plugin);

#endif
