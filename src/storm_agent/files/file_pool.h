/*
 * file_pool.h - memory that the agent shares with a storm_file process.  The
 * agent unseals the data of a file into it, and the process writes them from
 * there.  To repair another node, the process reads data back into it, and the
 * agent sends them.
 *
 * The pool has slots, one for each piece under way.  The process answers for
 * pieces in the order in which the agent took them.  The slot that was given
 * back last is taken first, so a fast file system uses little memory.  The
 * memory of all slots has a limit, which the agent raises.
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
#define FILE_POOL_SIZE (FILE_POOL_SLOTS * FILE_POOL_ROOM) /* as mapped */
#define FILE_POOL_STEP (64u << 10) /* by which the limit is raised */
#define FILE_POOL_MIN (16u << 10)  /* the smallest room */

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

/* Make the memory.  0, or -1 and errno: then there is nothing to destroy. */
int file_pool_create(struct file_pool *r);
void file_pool_destroy(struct file_pool *r); /* a second time is fine */

/* Returns room for a piece, *size bytes, at least FILE_POOL_MIN.  NULL: the
 * limit leaves none. */
uint8_t *file_pool_room(struct file_pool *r, size_t *size);
/* Raise the limit by one step.  False: it cannot be raised. */
bool file_pool_grow(struct file_pool *r);
/* Take the first len bytes of the room that was given last, as a piece. */
const struct file_piece *file_pool_take(struct file_pool *r, uint32_t verb,
					uint64_t off, size_t len);
/* The piece taken last, or n before it. */
const struct file_piece *file_pool_last(const struct file_pool *r, uint32_t n);
/* The oldest piece; NULL: none. */
const struct file_piece *file_pool_oldest(const struct file_pool *r);
void file_pool_release(struct file_pool *r); /* the oldest piece, if any */

/* In the process: map the memory.  NULL and errno on failure. */
uint8_t *file_pool_map(int fd);
void file_pool_unmap(uint8_t *base);

#endif
