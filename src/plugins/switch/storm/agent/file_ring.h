/*
 * file_ring.h - memory that the agent shares with a storm_file process.  The
 * data of a file are unsealed into it, and the process writes them from there;
 * or it reads back into it what the agent sends.
 *
 * The agent takes pieces of the ring in order, and the process answers in that
 * order.  An empty ring begins at its start again, so a fast file system uses
 * little of it.  The memory is used up to a limit that the agent raises.
 *
 * The file includes no header of Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FILE_RING_H
#define STORM_FILE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILE_RING_SIZE (16u << 20)  /* addresses, not memory */
#define FILE_RING_ROOM (256u << 10) /* the largest piece */
#define FILE_RING_STEP \
	(64u << 10) /* of the limit; the largest that a read
				       asks for is one step */
#define FILE_RING_PIECES 256

struct file_piece {
	uint32_t verb; /* enum file_verb */
	uint32_t at, len;
	uint64_t off; /* in the file */
};

struct file_ring {
	int fd; /* of the memory; -1: none */
	uint8_t *base;
	size_t limit;
	size_t head, tail; /* the next piece; the oldest one */
	uint32_t first, count;
	struct file_piece piece[FILE_RING_PIECES];
};

/* 0, or -1 and errno: then there is nothing to destroy. */
int file_ring_create(struct file_ring *r);
void file_ring_destroy(struct file_ring *r); /* a second time is fine */

/* Room for a piece of *size bytes, at least FILE_RING_STEP / 4.  NULL: none, as
 * far as the limit allows. */
uint8_t *file_ring_room(struct file_ring *r, size_t *size);
/* Can the limit be raised?  Then it is, by one step. */
bool file_ring_grow(struct file_ring *r);
/* Take len bytes of the room that was given last. */
const struct file_piece *file_ring_take(struct file_ring *r, uint32_t verb,
					uint64_t off, size_t len);
/* The oldest piece; NULL: none. */
const struct file_piece *file_ring_oldest(const struct file_ring *r);
void file_ring_release(struct file_ring *r); /* the oldest piece */

/* For the process: map it.  NULL and errno. */
uint8_t *file_ring_map(int fd);
void file_ring_unmap(uint8_t *base);

#endif
