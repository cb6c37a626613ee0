/*
 * domain_private.h - what the calls that are built on the primitives need of a
 * domain beside them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_DOMAIN_PRIVATE_H
#define STORM_DOMAIN_PRIVATE_H

#include "src/libstorm/storm.h"

/* How reports of the kind STORM_REPORT_TERMINATED are told: their ids are
 * generations, and their code makes haste. */
#define TERMINATED_CODE 1

/* Wait until some node has announced this generation, or a node was lost.
 * STORM_OK; STORM_ETIME: the deadline is past; STORM_ECLOSED. */
int domain_await_announcement(storm_domain_t *d, uint32_t generation,
			      uint64_t deadline);

/* What P stands for (NULL: all members), into out, which is empty before.
 * STORM_EINVAL: there are no such nodes; STORM_ENOMEM. */
int domain_nodes(storm_domain_t *d, const struct storm_idset *P,
		 struct storm_idset *out);

/* Its network's counters (driver.h). */
void domain_counters(storm_domain_t *d, char *buf, size_t size);

/* The domain's time, and some of it passes. */
uint64_t domain_now(const storm_domain_t *d);
void domain_sleep(const storm_domain_t *d, uint64_t ns);

#endif
