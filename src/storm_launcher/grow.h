/*
 * grow.h - a buffer that becomes larger as it fills.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GROW_H
#define STORM_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for so many bytes in all.  *buf and *room become those of a larger one, which
 * the caller frees.  False: no memory, and nothing has changed. */
bool grow_buffer(uint8_t **buf, size_t *room, size_t need);

#endif
