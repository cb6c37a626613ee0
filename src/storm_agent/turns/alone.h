/*
 * alone.h - when an agent without slurmd leaves the cluster domain.  Without slurmd
 * nobody guards the steps, so all of them run, and users must not be told of turns
 * that nobody takes.  But each node that leaves and returns costs the whole cluster two
 * epochs and a map.  So a slurmd that is only started again is waited for, and one that
 * goes again and again is waited for longer each time.
 *
 * It counts looks, not time: an agent that stood still for a while has not looked, and
 * slurmd stood still with it, perhaps.  No Slurm header, no I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_ALONE_H
#define STORM_ALONE_H

#include <stdbool.h>
#include <stdint.h>

/* In looks, one a second at most.  A slurmd that is started again is there by
 * then: it reads slurm.conf, asks each GPU, and the node may be busy.  It is
 * less than AgentLinger's default, after which the agent ends. */
#define ALONE_PATIENCE 15
/* Users are told for so long of turns that are not taken. */
#define ALONE_PATIENCE_MOST 120
/* With slurmd for so long the first patience counts again. */
#define ALONE_CALM 600

/* Initialize it to zeroes. */
struct alone {
	uint32_t without;  /* looks in a row that saw no slurmd */
	uint32_t with;	   /* and that saw it */
	uint32_t patience; /* 0: ALONE_PATIENCE */
};

/* The node has become a member: what was missing before counts no more. */
void alone_begin(struct alone *al);
/* A look.  True: it is time to leave.  It is so at each look until slurmd is there. */
bool alone_look(struct alone *al, bool there);
/* The node has left. */
void alone_left(struct alone *al);

#endif
