/*
 * filecast.c - TRANSFER-FILE (paper section 2.4.2, Algorithm 6): a file is one
 * transfer.  Departure: the paper reads chunks into two buffers in turn, so
 * that reading and sending overlap.  Here the kernel reads ahead, which has the
 * same effect, and what is lost is read again.  The nodes' side (Algorithm 7) is
 * nm_xfer.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <sys/stat.h>

#include "src/libstorm/program/domain_private.h"

storm_event_t *storm_transfer_file(storm_domain_t *d,
				   const struct storm_idset *P, int fd,
				   const struct storm_target *to)
{
	struct source *from;
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return NULL;
	}
	from = source_create(fd, (uint64_t) st.st_size);
	if (!from)
		return NULL;
	errno = 0; /* errors below are not the file's */
	return domain_xfer_source(d, P, to, from, (uint64_t) st.st_size);
}
