/*
 * strober_domain.h - the cluster domain of slurmctld's nodes.  It is opened in
 * an epoch that is saved before it is used, and opening is retried until it
 * succeeds.  The clock (strobe_clock.h) and the thread that counts missed
 * strobes (missed.h) borrow it.  After a time in which this process did not run
 * it is confirmed.
 *
 * A process has one.  Only the thread that has started the clock may call these
 * functions.  Times are ns of CLOCK_MONOTONIC (clock.h).  They log errors, each
 * once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STROBER_DOMAIN_H
#define STORM_STROBER_DOMAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/libstorm/storm.h"
#include "src/storm_common/storm_conf.h"

/*
 * Call it first, after slurm.conf was read.  It opens nothing.  state: the file
 * with the epoch (strober_state.h); the pointer is kept, *conf is copied.
 * wake() asks the caller's thread to call strober_domain_joined().  A thread of
 * the domain calls wake(), so it must neither wait nor call anything of this
 * header.
 */
void strober_domain_init(const char *state, const struct storm_conf *conf,
			 void (*wake)(void));

/* Set the domain's nodes: the body of STROBER_NODES.  A list that does not end in
 * a NUL gives a domain without nodes.  The domain must be closed.  Reads
 * slurm.conf again. */
void strober_domain_nodes(const char *names, size_t len);
/* The number of nodes. */
uint32_t strober_domain_count(void);

/* When to call strober_domain_open(); STORM_NEVER: the domain is open, or has
 * no nodes. */
uint64_t strober_domain_due(void);
/* Open the domain; call it only when it is due.  Waits for the nodes' answers,
 * at most open_timeout (storm.h). */
void strober_domain_open(void);
/* Close the domain, and discard the clock's map.  Waits as missed_stop() and
 * storm_domain_destroy() do.  Does nothing if the domain is not open. */
void strober_domain_close(void);

/* The open domain, or NULL. */
storm_domain_t *strober_domain_get(void);

/* Let a clock that is away (strobe_clock_is_away()) strobe again if this
 * process still owns the domain.  If not, the clock stays silent; call it again
 * later.  The domain must be open, and slurmctld's frames read. */
void strober_domain_confirm(void);

/* A map has been on its way for so long; 0: it is not any more.  Find members that
 * answer no question (missed.h), and exclude them: it would wait in vain for them.  The
 * domain must be open. */
void strober_domain_map_waits(uint64_t since);

/* Exclude members that answer no question, thrice, and are above others in the tree.  They keep
 * strobes from these, and their signs of life from the owner.  The domain must be open. */
void strober_domain_cut_relays(void);

/* Has a node become a member since the last call? */
bool strober_domain_joined(void);

#endif
