/*
 * check_image.h - reads from a plugin, program or library which Slurm it was
 * built for, or is of.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_IMAGE_H
#define STORM_CHECK_IMAGE_H

#include <stddef.h>

/* Write the version of Slurm that a plugin was built for, such as "22.05.8".
 * 0; or 1: out has the reason why it is not known. */
int image_plugin_version(const char *path, char *out, size_t size);

/* Write what a plugin or program of STORM's was built for: the revision of
 * Slurm, and the build-id of libslurmfull.so in hex, each of size bytes.  0; or
 * 1: it does not say. */
int image_record(const char *path, char *revision, char *id, size_t size);

/* Write a library's build-id in hex.  0; or 1: it has none. */
int image_build_id(const char *path, char *out, size_t size);

#endif
