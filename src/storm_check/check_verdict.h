/*
 * check_verdict.h - what an agent's answer means, and the remedy.  Pure.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_VERDICT_H
#define STORM_CHECK_VERDICT_H

#include "src/libstorm/storm.h"

/* How far an agent was asked. */
struct check_answer {
	enum storm_err why; /* of OPEN; STORM_OK: it was accepted and answered */
	int sys;
	bool small; /* a short message arrived, and its answer came back */
	bool large; /* packets of full size arrived, too */
	bool group; /* a message to the group arrived */
	bool group_large;
};

/* The verdict on a node without multicast.  NULL: nothing is missing.  The
 * caller frees it. */
char *check_verdict(const struct check_answer *a, uint16_t port,
		    unsigned int mtu);
/* The same of the group, where the answer before has nothing missing. */
char *check_verdict_group(const struct check_answer *a, uint16_t port,
			  unsigned int mtu);

#endif
