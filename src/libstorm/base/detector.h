/*
 * detector.h - distinguishes a slow node from a dead one by how regularly the
 * node was heard (paper section 2.4.3: isolate a node that missed a heartbeat).
 *
 * Every node sends its parent a message at least each storm_sign_every().  The
 * detector keeps the mean and the mean deviation of the silence between two
 * messages, as TCP does for round trips (Jacobson, "Congestion Avoidance and
 * Control", SIGCOMM 1988).  A node whose silence is far longer than usual is
 * *overdue*.  This is reported once, as is its return, and has no other
 * effect.  A node that is silent for dead_timeout is dead, regardless of the
 * mean.  So two settings give three increasing thresholds: due, overdue, dead.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_DETECTOR_H
#define STORM_DETECTOR_H

#include <stdbool.h>
#include <stdint.h>

/* The state of one node, in ns.  All zeroes: not heard yet. */
struct storm_detector {
	uint64_t mean, deviation; /* of silence between messages */
	bool overdue;
};

/* The longest interval between two messages of a node, in ns.  lossy: datagrams
 * are lost. */
uint64_t storm_sign_every(uint64_t dead_timeout, uint64_t heartbeat,
			  bool lossy);

/* The silence in ns after which the node is overdue. */
uint64_t storm_detector_patience(const struct storm_detector *d,
				 uint64_t dead_timeout, uint64_t heartbeat);
/* The node was heard after this silence.  True: it was overdue and is back. */
bool storm_detector_heard(struct storm_detector *d, uint64_t silence,
			  uint64_t dead_timeout, uint64_t heartbeat);
/* The node has been silent for this long.  True: it has become overdue. */
bool storm_detector_check(struct storm_detector *d, uint64_t silence,
			  uint64_t dead_timeout, uint64_t heartbeat);

#endif
