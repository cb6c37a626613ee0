/*
 * probe_plugin.h - read from a file for which Slurm it was built, or which it is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PROBE_PLUGIN_H
#define STORM_PROBE_PLUGIN_H

/* Print "22.05.8", or why it is not known.  0, or 1. */
int probe_plugin(const char *path);

/* Print "24.11.5-4 BUILD-ID": the revision and libslurmfull.so that a plugin or
 * program of STORM's was built for.  0, or 1: it has no such record. */
int probe_record(const char *path);

/* Print a library's build-id in hex.  0, or 1: it has none. */
int probe_build_id(const char *path);

#endif
