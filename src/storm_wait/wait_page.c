/*
 * wait_page.c - see wait_page.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "wait_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL /* since Linux 6.3 */
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* Kernels may want to hear that nobody executes it; older ones know no such
 * flag. */
static int wait_page_memory(void)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("storm_wait", flags | MFD_NOEXEC_SEAL);

	return fd < 0 && errno == EINVAL ? memfd_create("storm_wait", flags) :
					   fd;
}

int wait_page_create(uint32_t tasks)
{
	int fd, err;

	if (!tasks || tasks > WAIT_PAGE_TASKS) {
		errno = ERANGE;
		return -1;
	}
	fd = wait_page_memory();
	if (fd < 0)
		return -1;
	if (!ftruncate(fd, (off_t) (tasks * sizeof(struct wait_slot))) &&
	    !fcntl(fd, F_ADD_SEALS, SEALS))
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

/* Its tasks; 0: it is no page.  No other file has seals. */
static uint32_t wait_page_tasks(int fd, struct stat *st)
{
	int seals = fcntl(fd, F_GET_SEALS);
	size_t size;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, st))
		return 0;
	size = (size_t) st->st_size;
	if (size % sizeof(struct wait_slot) ||
	    size > WAIT_PAGE_TASKS * sizeof(struct wait_slot))
		return 0;
	return size / sizeof(struct wait_slot);
}

bool wait_page_name(int fd, char *out, unsigned long size)
{
	struct stat st;

	if (!wait_page_tasks(fd, &st))
		return false;
	snprintf(out, size, "%d:%ju", fd, (uintmax_t) st.st_ino);
	return true;
}

/* The program may have closed it, and have opened something else there. */
struct wait_slot *wait_page_map(const char *name, uint32_t task)
{
	struct wait_slot *all;
	uintmax_t inode;
	uint32_t tasks;
	struct stat st;
	int fd;

	if (!name || sscanf(name, "%d:%ju", &fd, &inode) != 2)
		return NULL;
	tasks = wait_page_tasks(fd, &st);
	if (task >= tasks || st.st_ino != inode)
		return NULL;
	all = mmap(NULL, tasks * sizeof(*all), PROT_READ | PROT_WRITE,
		   MAP_SHARED, fd, 0);
	return all == MAP_FAILED ? NULL : all + task;
}

struct wait_account wait_slot_load(const struct wait_slot *s)
{
	return (struct wait_account) {
		atomic_load_explicit(&s->waits, memory_order_relaxed),
		atomic_load_explicit(&s->computed, memory_order_relaxed),
		atomic_load_explicit(&s->waited, memory_order_relaxed),
		atomic_load_explicit(&s->ran, memory_order_relaxed),
	};
}

/* Forged sums may wrap around. */
bool wait_page_sum(int fd, struct wait_account *out)
{
	struct wait_slot slots[32];
	uint32_t tasks, left, n;
	struct stat st;

	*out = (struct wait_account) { 0 };
	tasks = wait_page_tasks(fd, &st);
	for (left = tasks; left; left -= n) {
		n = left < 32 ? left : 32;
		if (pread(fd, slots, n * sizeof(*slots),
			  (off_t) ((tasks - left) * sizeof(*slots))) !=
		    (ssize_t) (n * sizeof(*slots)))
			return false;
		for (uint32_t i = 0; i < n; i++) {
			struct wait_account a = wait_slot_load(&slots[i]);

			out->waits += a.waits;
			out->computed += a.computed;
			out->waited += a.waited;
			out->ran += a.ran;
		}
	}
	return tasks;
}
