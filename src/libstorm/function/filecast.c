/*
 * filecast.c - TRANSFER-FILE (paper section 2.4.2, Algorithm 6): a file is one
 * transfer.  Departure: the paper reads chunks into two buffers in turn, so
 * that reading and sending overlap.  Here the file is mapped and read ahead.
 * This has the same effect, and allows the owner to retransmit any chunk.  The
 * nodes' side (Algorithm 7) is nm_xfer.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "src/libstorm/program/event.h"

storm_event_t *storm_transfer_file(storm_domain_t *d,
				   const struct storm_idset *P, int fd,
				   const struct storm_target *to)
{
	storm_event_t *e;
	void *map = NULL;
	struct stat st;
	size_t len;

	if (fstat(fd, &st))
		return NULL;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return NULL;
	}
	len = (size_t) st.st_size;
	if (len) {
		map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
		if (map == MAP_FAILED)
			return NULL;
		madvise(map, len, MADV_SEQUENTIAL);
		madvise(map, len, MADV_WILLNEED);
	}
	errno = 0; /* errors below are not the file's */
	e = storm_xfer_and_signal(d, P, to, map, len);
	if (e)
		e->map = map; /* storm_event_free() unmaps it */
	else if (map)
		munmap(map, len);
	return e;
}
