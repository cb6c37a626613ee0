/*
 * gang_bill.h - how many turns a job pays for its switches.  To stop and to
 * continue a job takes time for each of its processes, and the jobs beside it
 * lose that time.  A job whose switches cost more than theirs pays with turns:
 * it skips so many of them that the others get their time back.  A job also
 * pays for what it computes outside its turns.
 *
 * The strobe's number alone decides which turns are skipped.  So all nodes of a
 * gang skip the same ones, and a node where the job costs more skips these and
 * others.  No Slurm header, no I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_BILL_H
#define STORM_GANG_BILL_H

#include <stdbool.h>
#include <stdint.h>

#define GANG_BILL_PARTS 1024

/*
 * How many of GANG_BILL_PARTS turns a job skips; never all.  cost: ns that one
 * of its turns costs; cheapest: the same of the cheapest job on the node.  A
 * cost of up to an eighth of the quantum above that is free.
 */
unsigned int gang_bill_share(uint64_t cost, uint64_t cheapest,
			     uint64_t quantum);

/* Does a job that skips so many of its turns skip the one that this strobe
 * orders? */
bool gang_bill_skips(unsigned int share, uint64_t strobe);

/* The ns of CPU time outside its turns that a job has free for each turn, so
 * that an srun that mostly waits costs no turns. */
uint64_t gang_bill_free(uint64_t quantum);

/* The mean after one more measurement.  It follows a change within some turns;
 * the first measurement counts in full. */
uint64_t gang_bill_mean(uint64_t mean, uint64_t measured);

#endif
