/*
 * strober_domain.h - the cluster domain of slurmctld's nodes: opened in an epoch that
 * is saved before it is used, and tried again until that succeeds; lent to the clock
 * (strobe_clock.h) and to the thread that asks what was missed (missed.h); confirmed
 * after this process has stood still.
 *
 * A process has one.  Everything here is for the one thread that has started the
 * clock.  Times are ns of CLOCK_MONOTONIC (clock.h).  Errors are logged here, each
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

/*
 * Before anything else, when slurm.conf has been read; nothing is opened yet.  state:
 * the file with the epoch (strober_state.h); the pointer is kept, set is copied.
 * wake() means that the caller's thread should ask strober_domain_joined(); a thread
 * of the domain's calls it, so it must neither wait nor call anything here.
 */
void strober_domain_init(const char *state, const struct storm_settings *set,
			 void (*wake)(void));

/* From now on it is of these nodes, each name with its NUL; what is no such list:
 * of none.  It must be closed.  Reads slurm.conf anew. */
void strober_domain_nodes(const char *names, size_t len);
/* How many they are. */
uint32_t strober_domain_count(void);

/* When strober_domain_open() is to be called; STORM_NEVER: it is open, or there are no
 * nodes. */
uint64_t strober_domain_due(void);
/* Only when it is due.  Waits for the nodes' answers, at most open_timeout
 * (storm.h). */
void strober_domain_open(void);
/* The clock's map counts no more, either.  Waits as missed_stop() and
 * storm_domain_destroy() do.  Nothing, where it is not open. */
void strober_domain_close(void);

/* NULL: it is not open. */
storm_domain_t *strober_domain_get(void);

/* While it is open, and what slurmctld said is read: a clock that has stood still goes
 * on, if the domain is still ours.  If not, it is silent until the next call that
 * finds it so. */
void strober_domain_confirm(void);

/* Has a node become a member since the last call? */
bool strober_domain_joined(void);

#endif
