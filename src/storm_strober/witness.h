/*
 * witness.h - the second witness: a thread that asks the TCP ports of silent nodes, and
 * keeps what is known of them (suspects.h).  It has no real-time priority, and asks few
 * nodes at once.
 *
 * A process has one.  Times are ns of CLOCK_MONOTONIC (clock.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_WITNESS_H
#define STORM_WITNESS_H

#include "suspects.h"

/* Call it first, once. */
void witness_init(void);
/* Start the thread for the nodes of the table (node_table.h), which have addresses.
 * wake() is called, by any thread, when witness_changed() has news; it must not wait.
 * 0, or an errno. */
int witness_start(void (*wake)(void));
/* End the thread, and forget the nodes.  Does nothing if there is none. */
void witness_stop(void);

/* Something was found of a node (suspects_find()).  Any thread.  Does nothing without
 * the witness. */
void witness_find(uint32_t node, enum suspects_kind kind, uint64_t heard,
		  uint64_t now);

/* suspects_changed(), suspects_get().  Any thread. */
bool witness_changed(void);
uint32_t witness_get(struct strober_failed *out);

#endif
