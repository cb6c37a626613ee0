/*
 * file_ring.c - see file_ring.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */
#endif
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_ring.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define ROOM_MIN (FILE_RING_STEP / 4)

uint8_t *file_ring_map(int fd)
{
	struct stat st;
	void *base;

	if (fstat(fd, &st))
		return NULL;
	if (st.st_size != FILE_RING_SIZE) {
		errno = EINVAL;
		return NULL;
	}
	base = mmap(NULL, FILE_RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
	return base == MAP_FAILED ? NULL : base;
}

void file_ring_unmap(uint8_t *base)
{
	if (base)
		munmap(base, FILE_RING_SIZE);
}

/* Sealed: the user's process cannot take memory away that the agent uses. */
int file_ring_create(struct file_ring *r)
{
	int err;

	memset(r, 0, sizeof(*r));
	r->limit = FILE_RING_STEP;
	r->fd = memfd_create("storm_file", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (r->fd < 0)
		return -1;
	if (!ftruncate(r->fd, FILE_RING_SIZE) &&
	    !fcntl(r->fd, F_ADD_SEALS, SEALS)) {
		r->base = file_ring_map(r->fd);
		if (r->base)
			return 0;
	}
	err = errno;
	close(r->fd);
	r->fd = -1;
	errno = err;
	return -1;
}

void file_ring_destroy(struct file_ring *r)
{
	file_ring_unmap(r->base);
	r->base = NULL;
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

bool file_ring_grow(struct file_ring *r)
{
	if (r->limit == FILE_RING_SIZE)
		return false;
	r->limit += FILE_RING_STEP;
	return true;
}

/* With pieces in use, and the head at or before the tail, the pieces go on at
 * the start: what is free is between the two. */
uint8_t *file_ring_room(struct file_ring *r, size_t *size)
{
	size_t free;

	if (r->count == FILE_RING_PIECES || !r->base)
		return NULL;
	if (!r->count)
		r->head = r->tail = 0;
	if (!r->count || r->head > r->tail) {
		free = r->limit - r->head;
		if (free < ROOM_MIN && r->tail >= ROOM_MIN) {
			r->head = 0;
			free = r->tail;
		}
	} else {
		free = r->tail - r->head;
	}
	if (free < ROOM_MIN)
		return NULL;
	*size = free < FILE_RING_ROOM ? free : FILE_RING_ROOM;
	return r->base + r->head;
}

const struct file_piece *file_ring_take(struct file_ring *r, uint32_t verb,
					uint64_t off, size_t len)
{
	struct file_piece *p =
		&r->piece[(r->first + r->count++) % FILE_RING_PIECES];

	*p = (struct file_piece) { verb, (uint32_t) r->head, (uint32_t) len,
				   off };
	r->head += len;
	return p;
}

const struct file_piece *file_ring_oldest(const struct file_ring *r)
{
	return r->count ? &r->piece[r->first] : NULL;
}

void file_ring_release(struct file_ring *r)
{
	const struct file_piece *p = &r->piece[r->first];

	if (!r->count)
		return;
	r->tail = p->at + p->len;
	r->first = (r->first + 1) % FILE_RING_PIECES;
	r->count--;
}
