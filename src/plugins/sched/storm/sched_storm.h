/*
 * sched_storm.h - the symbols that Slurm's plugin loader looks up.  Slurm's
 * sched_plugin.c has the table; 22.05 has no header for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SCHED_STORM_H
#define STORM_SCHED_STORM_H

#include <stdint.h>

#include "src/libstorm/base/clock.h"

#pragma GCC visibility push(default)
extern const char plugin_name[], plugin_type[];
extern const uint32_t plugin_version;
int init(void);
void fini(void);
int sched_p_reconfig(void);
#pragma GCC visibility pop

#endif
