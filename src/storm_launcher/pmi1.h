/*
 * pmi1.h - the server of PMI-1, the protocol by which ranks of MPICH find each other: what
 * the ranks of one node have said, and what they are answered.  No I/O.
 *
 * A rank writes lines "cmd=NAME key=value ..." and reads such lines.  Pairs that any rank
 * has put can be got by all ranks after the next barrier.  (P. Balaji et al., "PMI: A
 * Scalable Parallel Process-Management Interface for Extreme-Scale Systems", EuroMPI 2010;
 * "Simple PMI" in MPICH's documents.)  There are neither spawns nor published names.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PMI1_H
#define STORM_PMI1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMI1_LINE 2048 /* bytes of a line with its end */
#define PMI1_KEY 64    /* bytes with their zero, as ranks are told */
#define PMI1_VALUE 1024
/* Bytes that ranks of one node may put before a barrier, and that are kept in all. */
#define PMI1_FRESH (2u << 20)
#define PMI1_KEPT (128u << 20)

struct pmi1;

/* What a line means to the launcher. */
enum pmi1_news {
	PMI1_NOTHING,
	PMI1_BARRIER, /* it waits in the barrier: pmi1_all_wait() */
	PMI1_JOINED,  /* it has begun */
	PMI1_LEFT,    /* it has ended, as far as MPI goes */
	PMI1_ABORT,   /* it wants all to end, with `code` */
	PMI1_SPAWN,   /* it asked for processes, and was refused */
	PMI1_BAD      /* that is no PMI-1 */
};

struct pmi1_said {
	enum pmi1_news news;
	int code;
	char text[200];		/* of ABORT: its message, or ""; of BAD */
	char answer[PMI1_LINE]; /* a line for it, or "" */
};

/* `here` ranks of `size`.  mapping: which rank is on which node, as MPICH has it in
 * PMI_process_mapping; "": not said.  NULL: no memory. */
struct pmi1 *pmi1_create(uint32_t size, uint32_t here, const char *mapping);
/* NULL is allowed. */
void pmi1_destroy(struct pmi1 *p);

/* The mapping for nodes that have the ranks from rank[n] to that of the next.  It is ""
 * where it is longer than a value. */
void pmi1_mapping(const uint32_t *rank, uint32_t nodes,
		  char (*out)[PMI1_VALUE]);

/* A line of the kth rank here, without its end; it is changed. */
void pmi1_take(struct pmi1 *p, uint32_t k, char *line, size_t len,
	       struct pmi1_said *said);

/* Do all ranks here wait in the barrier?  Does any? */
bool pmi1_all_wait(const struct pmi1 *p);
bool pmi1_any_waits(const struct pmi1 *p);
bool pmi1_waits(const struct pmi1 *p, uint32_t k);
/* What they have put since the one before, which is p's until pmi1_release(). */
const uint8_t *pmi1_fresh(const struct pmi1 *p, size_t *len);
/* All ranks of all nodes have come, with these pairs: nobody waits any more.  False:
 * they are malformed, or there is no memory. */
bool pmi1_release(struct pmi1 *p, const uint8_t *pairs, size_t len);
#define PMI1_BARRIER_OUT "cmd=barrier_out rc=0\n"

#endif
