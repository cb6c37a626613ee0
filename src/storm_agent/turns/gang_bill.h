/*
 * gang_bill.h - what a job pays for its switches.  To stop and to continue a job
 * takes time for each of its processes, from the jobs beside it.  A job whose
 * switches cost more than theirs pays with turns: it skips as large a part of them
 * as gives the others their time back.
 *
 * It also pays for what it computes out of its turns.
 *
 * Which turns these are depends on the strobe's number alone.  So all nodes of a
 * gang skip the same ones, and a node where it costs more skips these and others.
 * No Slurm header, no I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_BILL_H
#define STORM_GANG_BILL_H

#include <stdbool.h>
#include <stdint.h>

#define GANG_BILL_PARTS 1024

/*
 * How many of GANG_BILL_PARTS turns it skips: never all.  cost: what one turn
 * of it costs, in ns; cheapest: the same of the cheapest job on the node.  An
 * eighth of the quantum more than that is free.
 */
unsigned int gang_bill_share(uint64_t cost, uint64_t cheapest,
			     uint64_t quantum);

/* Does a job that skips so many of its turns skip the one that this strobe
 * orders? */
bool gang_bill_skips(unsigned int share, uint64_t strobe);

/* So much CPU time out of its turns a job has free for each turn, in ns: an srun that
 * mostly waits costs no turns. */
uint64_t gang_bill_free(uint64_t quantum);

/* The mean of what was measured, which follows a change within some turns; the
 * first measurement counts in full. */
uint64_t gang_bill_mean(uint64_t mean, uint64_t measured);

#endif
