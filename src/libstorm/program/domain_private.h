/*
 * domain_private.h - what function/ needs of a domain beside the primitives.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_DOMAIN_PRIVATE_H
#define STORM_DOMAIN_PRIVATE_H

#include "source.h"
#include "src/libstorm/storm.h"

/* The code of reports of kind STORM_REPORT_TERMINATED, whose ids are
 * generations.  Reports with a code other than 0 are sent without delay. */
#define TERMINATED_CODE 1

/* Wait until a node has announced this generation, or a node was lost.
 * deadline as in storm_test_event().  STORM_OK; STORM_ETIME: the deadline has
 * passed; STORM_ECLOSED. */
int domain_await_announcement(storm_domain_t *d, uint32_t generation,
			      uint64_t deadline);

/* Set out, which must be empty, to the nodes of P (NULL: all members).
 * STORM_OK; STORM_EINVAL: P names other nodes; STORM_ENOMEM. */
int domain_nodes(storm_domain_t *d, const struct storm_idset *P,
		 struct storm_idset *out);

/* Wait until all callbacks that are due, of faults for one, were made; or the domain's
 * thread has ended.  Not from a callback, nor with a lock that one takes. */
void domain_told(storm_domain_t *d);

/* storm_compare_and_write() of an own variable, without a write.  limit: ns
 * after which it fails at the latest; out then names the nodes that have not
 * answered. */
enum storm_compare domain_compare_within(storm_domain_t *d,
					 const struct storm_idset *P,
					 uint32_t var, enum storm_relation rel,
					 uint64_t value, uint64_t limit,
					 struct storm_outcome *out);

/* storm_owner_cut() of the domain's owner.  STORM_ECLOSED: the domain is not
 * open.  Any thread. */
int domain_cut(storm_domain_t *d, const struct storm_idset *nodes, bool relays);

/* storm_xfer_and_signal() of the first len bytes of a file.  It takes `from` in
 * any case: the event destroys it, or this call does if it returns NULL. */
storm_event_t *domain_xfer_source(storm_domain_t *d,
				  const struct storm_idset *P,
				  const struct storm_target *to,
				  struct source *from, uint64_t len);

/* Write the counters of the domain's network to buf, as members of a JSON
 * object (driver.h). */
void domain_counters(storm_domain_t *d, char *buf, size_t size);

/* The domain's time in ns, which is virtual in the simulator; and wait for so
 * many ns of it. */
uint64_t domain_now(const storm_domain_t *d);
void domain_sleep(const storm_domain_t *d, uint64_t ns);

#endif
