/*
 * source.h - the file that a transfer reads.  It is read, not mapped: a file that
 * becomes shorter, or a disk that fails, is an error of the transfer then, and no
 * signal.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SOURCE_H
#define STORM_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct source;

/* A source of the first len bytes of fd, which the caller may close.  NULL and
 * errno. */
struct source *source_create(int fd, uint64_t len);
void source_destroy(struct source *s); /* NULL is fine */

/* len bytes from off on, which stay until the next call (struct storm_bytes).  NULL:
 * they cannot be read; *sys has an errno, or 0: the file is shorter now. */
const void *source_bytes(void *s, uint64_t off, size_t len, int *sys);

#endif
