/*
 * check_verdict.h - says what an agent's answer means, and the remedy.  Pure.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_VERDICT_H
#define STORM_CHECK_VERDICT_H

#include "src/libstorm/storm.h"

/* What an agent has answered. */
struct check_answer {
	enum storm_err why; /* of OPEN; STORM_OK: it was accepted, answered */
	int sys;	    /* its errno, or 0 */
	bool small; /* a short message arrived, and its answer came back */
	bool large; /* packets of full size arrived, too */
	bool group; /* a message to the group arrived */
	bool group_large;
};

/* The verdict on the path to a node, without multicast, as text that the caller
 * frees.  NULL: nothing is missing.  port: the agent's; mtu: bytes of the
 * largest datagram. */
char *check_verdict(const struct check_answer *a, uint16_t port,
		    unsigned int mtu);
/* The verdict on multicast to a node, if check_verdict() found nothing missing
 * on the path to it. */
char *check_verdict_group(const struct check_answer *a, uint16_t port,
			  unsigned int mtu);

#endif
