/*
 * conf_plugstack.h - keys of storm.conf as arguments of spank_storm.so in
 * plugstack.conf: "optional spank_storm.so Radix=4 Port=8384".
 *
 * The file is read, not the plugin's argv: the agent, the strober, slurmctld
 * and sbcast_storm load no SPANK plugin.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_PLUGSTACK_H
#define STORM_CONF_PLUGSTACK_H

#include "conf_file.h"

/* Read plugstack.conf, and what it includes, for the keys.  A file that is not
 * there has none.  SPANK itself reports faults of its syntax. */
void conf_plugstack_read(const char *path, const struct conf_file_calls *calls);

#endif
