/*
 * check_plugins.h - checks that STORM's files are here, for this Slurm, and
 * that Slurm uses them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_PLUGINS_H
#define STORM_CHECK_PLUGINS_H

#include <stdbool.h>

/* Check the files, after slurm_file_read().  False: Slurm's programs do not run
 * here. */
bool check_plugins(void);
/* Check the types in slurm.conf, such as SwitchType. */
void check_types(void);

#endif
