/*
 * check_plugins.h - are STORM's files here, for this Slurm, and does Slurm use them?
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_PLUGINS_H
#define STORM_CHECK_PLUGINS_H

#include <stdbool.h>

/* After slurm_file_read().  False: Slurm's programs do not run here. */
bool check_plugins(void);
/* The types in slurm.conf. */
void check_types(void);

#endif
