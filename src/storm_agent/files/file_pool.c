/*
 * file_pool.c - see file_pool.h.
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

#include "file_pool.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

uint8_t *file_pool_map(int fd)
{
	struct stat st;
	void *base;

	if (fstat(fd, &st))
		return NULL;
	if (st.st_size != FILE_POOL_SIZE) {
		errno = EINVAL;
		return NULL;
	}
	base = mmap(NULL, FILE_POOL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
	return base == MAP_FAILED ? NULL : base;
}

void file_pool_unmap(uint8_t *base)
{
	if (base)
		munmap(base, FILE_POOL_SIZE);
}

/* Sealed: the user's process cannot take memory away that the agent uses. */
int file_pool_create(struct file_pool *r)
{
	int err;

	memset(r, 0, sizeof(*r));
	r->limit = FILE_POOL_STEP;
	for (uint16_t i = 0; i < FILE_POOL_SLOTS; i++)
		r->free[i] = (uint16_t) (FILE_POOL_SLOTS - 1 - i);
	r->fd = memfd_create("storm_file", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (r->fd < 0)
		return -1;
	if (!ftruncate(r->fd, FILE_POOL_SIZE) &&
	    !fcntl(r->fd, F_ADD_SEALS, SEALS)) {
		r->base = file_pool_map(r->fd);
		if (r->base)
			return 0;
	}
	err = errno;
	close(r->fd);
	r->fd = -1;
	errno = err;
	return -1;
}

void file_pool_destroy(struct file_pool *r)
{
	file_pool_unmap(r->base);
	r->base = NULL;
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

bool file_pool_grow(struct file_pool *r)
{
	if (r->limit == FILE_POOL_SIZE)
		return false;
	r->limit += FILE_POOL_STEP;
	return true;
}

static uint16_t file_pool_next(const struct file_pool *r)
{
	return r->free[FILE_POOL_SLOTS - 1 - r->count];
}

uint8_t *file_pool_room(struct file_pool *r, size_t *size)
{
	uint16_t slot;

	if (r->count == FILE_POOL_SLOTS || !r->base)
		return NULL;
	slot = file_pool_next(r);
	*size = r->slot_used[slot] + (r->limit - r->used);
	if (*size > FILE_POOL_ROOM)
		*size = FILE_POOL_ROOM;
	return *size < FILE_POOL_MIN ? NULL :
				       r->base + (size_t) slot * FILE_POOL_ROOM;
}

const struct file_piece *file_pool_take(struct file_pool *r, uint32_t verb,
					uint64_t off, size_t len)
{
	uint16_t slot = file_pool_next(r);
	struct file_piece *p =
		&r->piece[(r->first + r->count++) % FILE_POOL_SLOTS];

	*p = (struct file_piece) { verb, slot * FILE_POOL_ROOM, (uint32_t) len,
				   off };
	if (len > r->slot_used[slot]) {
		r->used += len - r->slot_used[slot];
		r->slot_used[slot] = (uint32_t) len;
	}
	return p;
}

const struct file_piece *file_pool_last(const struct file_pool *r, uint32_t n)
{
	return &r->piece[(r->first + r->count - 1 - n) % FILE_POOL_SLOTS];
}

const struct file_piece *file_pool_oldest(const struct file_pool *r)
{
	return r->count ? &r->piece[r->first] : NULL;
}

void file_pool_release(struct file_pool *r)
{
	const struct file_piece *p = &r->piece[r->first];

	if (!r->count)
		return;
	r->count--;
	r->free[FILE_POOL_SLOTS - 1 - r->count] =
		(uint16_t) (p->at / FILE_POOL_ROOM);
	r->first = (r->first + 1) % FILE_POOL_SLOTS;
}
