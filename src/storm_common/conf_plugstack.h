/*
 * conf_plugstack.h - keys of storm.conf as arguments of spank_storm.so in
 * plugstack.conf: "optional spank_storm.so Radix=4 Port=8384".
 *
 * The file is read, not the plugin's argv: the agent, the strober, slurmctld and
 * sbcast_storm load no SPANK plugin.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_PLUGSTACK_H
#define STORM_CONF_PLUGSTACK_H

#include "conf_file.h"

/* A file that is not there has no keys.  A fault of SPANK's own is not reported:
 * SPANK does that. */
void conf_plugstack_read(const char *path, const struct conf_file_calls *calls);

#endif
