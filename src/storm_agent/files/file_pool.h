/*
 * file_pool.h - memory that the agent shares with a storm_file process.  The
 * data of a file are unsealed into it, and the process writes them from there;
 * or it reads back into it what the agent sends.
 *
 * The pool has slots, one for each piece under way, and the process answers for
 * pieces in the order in which the agent took them.  The slot that was given back
 * last is taken first, so a fast file system uses little memory.  The memory of
 * all slots has a limit, which the agent raises.
 *
 * The file includes no header of Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FILE_POOL_H
#define STORM_FILE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILE_POOL_SLOTS 256
#define FILE_POOL_ROOM (256u << 10) /* of a slot: the largest piece */
#define FILE_POOL_SIZE (FILE_POOL_SLOTS * FILE_POOL_ROOM) /* addresses */
#define FILE_POOL_STEP (64u << 10)			  /* of the limit */
#define FILE_POOL_MIN (16u << 10) /* the smallest room */

struct file_piece {
	uint32_t verb; /* enum file_verb */
	uint32_t at, len;
	uint64_t off; /* in the file */
};

struct file_pool {
	int fd; /* of the memory; -1: none */
	uint8_t *base;
	size_t limit, used; /* bytes of memory */
	uint32_t slot_used[FILE_POOL_SLOTS];
	uint16_t free[FILE_POOL_SLOTS]; /* the last one is taken first */
	uint32_t first, count;		/* pieces under way */
	struct file_piece piece[FILE_POOL_SLOTS];
};

/* 0, or -1 and errno: then there is nothing to destroy. */
int file_pool_create(struct file_pool *r);
void file_pool_destroy(struct file_pool *r); /* a second time is fine */

/* Room for a piece of *size bytes, at least FILE_POOL_MIN.  NULL: none, as far
 * as the limit allows. */
uint8_t *file_pool_room(struct file_pool *r, size_t *size);
/* Can the limit be raised?  Then it is, by one step. */
bool file_pool_grow(struct file_pool *r);
/* Take len bytes of the room that was given last. */
const struct file_piece *file_pool_take(struct file_pool *r, uint32_t verb,
					uint64_t off, size_t len);
/* The piece taken last, or n before it. */
const struct file_piece *file_pool_last(const struct file_pool *r, uint32_t n);
/* The oldest piece; NULL: none. */
const struct file_piece *file_pool_oldest(const struct file_pool *r);
void file_pool_release(struct file_pool *r); /* the oldest piece, if any */

/* For the process: map it.  NULL and errno. */
uint8_t *file_pool_map(int fd);
void file_pool_unmap(uint8_t *base);

#endif
