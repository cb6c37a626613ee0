/*
 * source.h - the file that a transfer sends.  It is read and not mapped.  So if
 * the file becomes shorter, or the disk fails, the transfer has an error; a
 * mapping would kill the process by a signal.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SOURCE_H
#define STORM_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct source;

/* Make a source of the first len bytes of fd, which the caller may close at
 * once.  NULL and errno on failure. */
struct source *source_create(int fd, uint64_t len);
void source_destroy(struct source *s); /* NULL is fine */

/* The at() of struct storm_bytes: len bytes from off on, which stay until the
 * next call.  NULL: they cannot be read; *sys is an errno, or 0 if the file is
 * shorter now. */
const void *source_bytes(void *s, uint64_t off, size_t len, int *sys);

#endif
