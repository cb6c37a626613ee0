/*
 * layout.h - slurmctld's records as they were compiled into it.  A source of
 * nearly the same revision can have a member more or less, which no version
 * shows.  Slurm's allocator knows the true size.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_LAYOUT_H
#define STORM_SLURM_LAYOUT_H

#include <stdbool.h>

#include "src/common/xmalloc.h"
#include "src/slurmctld/slurmctld.h"

/* Is this record as large as it was compiled here?  If not, its members are
 * elsewhere. */
static inline bool layout_fits_job(const job_record_t *job)
{
	return xsize((void *) job) == sizeof(*job);
}

static inline bool layout_fits_part(const part_record_t *part)
{
	return xsize((void *) part) == sizeof(*part);
}

static inline bool layout_fits_node(const node_record_t *node)
{
	return xsize((void *) node) == sizeof(*node);
}

static inline bool layout_fits_qos(const slurmdb_qos_rec_t *qos)
{
	return xsize((void *) qos) == sizeof(*qos);
}

static inline bool layout_fits_step(const step_record_t *step)
{
	return xsize((void *) step) == sizeof(*step) &&
	       layout_fits_job(step->job_ptr);
}

#endif
