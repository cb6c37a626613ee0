/*
 * probe_plugin.h - read from a plugin's file for which Slurm it was built.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PROBE_PLUGIN_H
#define STORM_PROBE_PLUGIN_H

/* Print "22.05.8", or why it is not known.  0, or 1. */
int probe_plugin(const char *path);

#endif
