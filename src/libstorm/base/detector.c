/*
 * detector.c - see detector.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "detector.h"

/* Status messages per dead_timeout.  Each wakes up a node and its parent, while
 * they compute.  If one datagram in ten is lost, the probability of losing all ten
 * is 1 in 10^10; if three are, that of losing all twenty. */
#define SIGNS 10
#define SIGNS_LOSSY 20
/* A node is overdue after four missing messages at least.  If three in ten are lost,
 * all four are lost once in a hundred times.  So a node that is heard irregularly
 * gets eight deviations. */
#define REGULAR 4
#define DEVIATIONS 8
/* Messages over which the averages extend.  With TCP's 4 a few regular messages
 * would hide that datagrams are lost. */
#define MEMORY 32

uint64_t storm_sign_every(uint64_t dead_timeout, uint64_t heartbeat, bool lossy)
{
	uint64_t often = dead_timeout / (lossy ? SIGNS_LOSSY : SIGNS);

	return often < heartbeat / 2 ? often : heartbeat / 2;
}

/* More than a few lost messages, and well before death. */
uint64_t storm_detector_patience(const struct storm_detector *d,
				 uint64_t dead_timeout, uint64_t heartbeat)
{
	uint64_t least =
		REGULAR * storm_sign_every(dead_timeout, heartbeat, false);
	uint64_t most = dead_timeout / 4 * 3;
	uint64_t usual = d->mean + DEVIATIONS * d->deviation;

	return usual < least ? least : usual > most ? most : usual;
}

bool storm_detector_heard(struct storm_detector *d, uint64_t silence,
			  uint64_t dead_timeout, uint64_t heartbeat)
{
	uint64_t most = storm_detector_patience(d, dead_timeout, heartbeat);
	bool back = d->overdue;
	uint64_t away;

	/* one long absence must not change what is usual */
	if (silence > most)
		silence = most;
	away = silence > d->mean ? silence - d->mean : d->mean - silence;
	if (!d->mean) {
		d->mean = silence;
		d->deviation = silence / 2;
	} else {
		d->mean = ((MEMORY - 1) * d->mean + silence) / MEMORY;
		d->deviation = ((MEMORY - 1) * d->deviation + away) / MEMORY;
	}
	d->overdue = false;
	return back;
}

bool storm_detector_check(struct storm_detector *d, uint64_t silence,
			  uint64_t dead_timeout, uint64_t heartbeat)
{
	if (d->overdue ||
	    silence < storm_detector_patience(d, dead_timeout, heartbeat))
		return false;
	return d->overdue = true;
}
