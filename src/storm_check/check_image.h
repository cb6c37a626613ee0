/*
 * check_image.h - read from a file for which Slurm it was built, or which it is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_IMAGE_H
#define STORM_CHECK_IMAGE_H

#include <stddef.h>

/* "22.05.8", or why it is not known.  0, or 1. */
int image_plugin_version(const char *path, char *out, size_t size);

/* What a plugin or program of STORM's was built for: the revision of Slurm, and the
 * build-id of libslurmfull.so in hex.  0, or 1: it has no such record. */
int image_record(const char *path, char *revision, char *id, size_t size);

/* A library's build-id in hex.  0, or 1: it has none. */
int image_build_id(const char *path, char *out, size_t size);

#endif
