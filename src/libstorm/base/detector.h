/*
 * detector.h - tells slow from dead by how regularly a node was heard so far
 * (paper section 2.4.3: who missed a heartbeat is to be isolated).
 *
 * Every node says something to its parent each storm_sign_every().  Of how long it
 * really was silent between two signs the mean and the mean deviation are kept,
 * as of the round trips in TCP (Jacobson, "Congestion Avoidance and Control",
 * SIGCOMM 1988).  Silence far beyond what was usual makes a node *overdue*:
 * that is said once, and once that it is back; nothing else follows from it.  Dead is
 * who is silent for dead_timeout, whatever was usual.  So there are three
 * thresholds, all derived from two settings, each above the one before: a sign
 * is due, overdue, dead.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_DETECTOR_H
#define STORM_DETECTOR_H

#include <stdbool.h>
#include <stdint.h>

/* Of one node; all zeroes: nothing is known of it.  ns. */
struct storm_detector {
	uint64_t mean, deviation;	/* of the silence between two signs */
	bool overdue;
};

/* How often a node gives a sign at least. */
uint64_t storm_sign_every(uint64_t dead_timeout, uint64_t heartbeat);

/* How much silence is not yet overdue. */
uint64_t storm_detector_patience(const struct storm_detector *d,
				 uint64_t dead_timeout, uint64_t heartbeat);
/* It was heard after so much silence.  True: it was overdue, and is back. */
bool storm_detector_heard(struct storm_detector *d, uint64_t silence,
			  uint64_t dead_timeout, uint64_t heartbeat);
/* It has been silent for so long.  True: it is overdue from now on. */
bool storm_detector_check(struct storm_detector *d, uint64_t silence,
			  uint64_t dead_timeout, uint64_t heartbeat);

#endif
