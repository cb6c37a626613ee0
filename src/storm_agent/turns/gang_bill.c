/*
 * gang_bill.c - see gang_bill.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "gang_bill.h"

unsigned int gang_bill_share(uint64_t cost, uint64_t cheapest, uint64_t quantum)
{
	uint64_t free = cheapest + quantum / 8, share;

	if (cost <= free)
		return 0;
	cost -= free;
	/* of one turn and its cost, the part that is cost */
	share = GANG_BILL_PARTS * ((double) cost / (cost + quantum)) + 1;
	return share < GANG_BILL_PARTS ? share : GANG_BILL_PARTS - 1;
}

/* Mix the number's bits: which strobes order a job's turns has a pattern, and the
 * turns that it skips must have none in common with it. */
bool gang_bill_skips(unsigned int share, uint64_t strobe)
{
	strobe = (strobe ^ strobe >> 33) * 0xff51afd7ed558ccdull;
	strobe = (strobe ^ strobe >> 33) * 0xc4ceb9fe1a85ec53ull;
	return (strobe >> 40) % GANG_BILL_PARTS < share;
}

uint64_t gang_bill_free(uint64_t quantum)
{
	return quantum / 64;
}

uint64_t gang_bill_mean(uint64_t mean, uint64_t measured)
{
	return mean ? (3 * mean + measured) / 4 : measured;
}
