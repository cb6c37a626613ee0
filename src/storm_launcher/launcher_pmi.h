/*
 * launcher_pmi.h - ranks of MPI on this node, which their launcher serves:
 *
 *	launcher_pmi.c		what all of them have in common
 *	launcher_pmi1.c		those that speak PMI-1, each by a socket pair
 *	launcher_pmix.c		those of PMIx, by storm_pmix
 *	launcher_pmi_say.c	what the head is told
 *
 * Each calls those below it alone.  What the rest of the launcher may call is in
 * launcher_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCHER_PMI_H
#define STORM_LAUNCHER_PMI_H

#include "launcher_private.h"
#include "pmi1.h"
#include "px_wire.h"

/* A rank here. */
struct pmi_rank {
	struct launched_pmi *pmi;
	bool joined, left, ended;
	bool spawned; /* it asked for processes, and the client knows */
	/* of PMI-1 */
	int fd; /* -1: it has none, or has closed it */
	char in[PMI1_LINE];
	size_t have;
	char out[PMI1_LINE + sizeof(PMI1_BARRIER_OUT)];
	size_t at, len; /* [at, len) is to be written */
};

struct launched_pmi {
	struct launched *run;
	uint32_t first, here; /* ranks */
	bool alone;	      /* no other node has any */
	bool ending;	      /* the head was told that the run is to end */
	struct relay *relay;
	struct pmi_rank *rank;
	/* of PMI-1 */
	struct pmi1 *server;
	uint8_t *fenced; /* what came of a fence, `come` bytes of it */
	size_t come;
	/* of PMIx */
	uint8_t *env_text; /* what env points into; NULL: it has not come yet */
	struct px_env env;
	uint32_t fault; /* a code: its tasks cannot start; or 0 */
};

/* epoll(7) of all ranks' sockets, with their pmi_rank; NULL: storm_pmix's. */
extern int launcher_pmi_poll;

/* ------------------------------------------------------- launcher_pmi1.c --- */

/* False: no memory. */
bool launcher_pmi1_open(struct launched_pmi *p);
void launcher_pmi1_close(struct launched_pmi *p);
/* As launcher_pmi_pair(). */
bool launcher_pmi1_pair(struct pmi_rank *r, int *theirs);
/* Something has come from it, or can be written. */
void launcher_pmi1_serve(struct pmi_rank *r);
/* Its last words: it has ended. */
void launcher_pmi1_ended(struct pmi_rank *r);
/* The run is to end if its ranks wait for one that has ended. */
void launcher_pmi1_check(struct launched_pmi *p);
/* A piece of what all nodes have brought. */
void launcher_pmi1_fenced(struct launched_pmi *p, const struct pmi_fenced *f);

/* ------------------------------------------------------- launcher_pmix.c --- */

/* 0, or a code for all tasks: none of them can start. */
uint32_t launcher_pmix_open(struct launched_pmi *p);
void launcher_pmix_close(struct launched_pmi *p);
/* Something has come from storm_pmix, or can be written. */
void launcher_pmix_serve(void);
/* Likewise. */
void launcher_pmix_check(struct launched_pmi *p);
void launcher_pmix_fenced(const struct pmi_fenced *f);
void launcher_pmix_direct(const struct px_msg *m, bool given);

/* ----------------------------------------------------- launcher_pmi_say.c --- */

/* The ranks here of the run with this number.  NULL: it has none, or is over. */
struct launched_pmi *launcher_pmi_of(uint64_t number);
void launcher_pmi_send(struct launched_pmi *p, const struct pmi_msg *m);
/* In the words of the kth rank here, to the client. */
__attribute__((format(printf, 5, 6))) void
launcher_pmi_say(struct launched_pmi *p, enum pmi_kind kind, uint32_t k,
		 uint32_t code, const char *fmt, ...);
/* The kth rank has ended, and never comes to others that wait. */
void launcher_pmi_say_vain(struct launched_pmi *p, uint32_t k);

#endif
