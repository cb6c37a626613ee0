/*
 * pmi_wire.h - what launchers and the head tell each other of MPI's ranks, as bytes:
 * bodies of RUN_PMI and of RUN_FENCED.  doc/launchers.md says who sends what.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PMI_WIRE_H
#define STORM_PMI_WIRE_H

#include "run_wire.h"

/* Bytes of what one node brings to a fence. */
#define PMI_DATA_MAX (RUN_FRAME_MAX - 65536)
/* Likewise of all nodes; and of one message of it in the domain. */
#define PMI_FENCE_MAX (256u << 20)
#define PMI_PIECE (1u << 20)
#define PMI_TEXT_MAX 512 /* bytes of a text, the rest is cut off */

enum pmi_kind {
	/* launcher -> head: all of `ranks` that this node has wait for all others.
	 * data: what they bring */
	PMI_FENCE = 1,
	/* likewise: the run is to end, as `rank` says it in the text that is data.
	 * code: its exit status, 0: that of its tasks; tasks get SIGKILL with a code,
	 * else SIGTERM first */
	PMI_END,
	/* likewise: `rank` has this text for the client's stderr */
	PMI_SAY,
	/* as END, but of the node, and of no rank */
	PMI_FAULT,
	/* likewise: `rank`, which another node has, is to give its data; code: a number
	 * of the launcher's */
	PMI_WANT,
	/* likewise: data for the node `rank`, which has asked by the number `code` */
	PMI_GIVEN,
	PMI_KINDS
};

struct pmi_msg {
	enum pmi_kind kind;
	uint32_t rank, code;
	struct storm_idset ranks; /* of FENCE */
	const uint8_t *data;	  /* the buffer's that it was read from */
	size_t len;
};

size_t pmi_msg_len(const struct pmi_msg *m);
void pmi_msg_put(struct storm_out *o, const struct pmi_msg *m);
/* pmi_msg_free() frees what it makes.  False: it is malformed, or there is no memory;
 * nothing needs to be freed. */
bool pmi_msg_get(struct storm_in *i, struct pmi_msg *m);
void pmi_msg_free(struct pmi_msg *m);

/* A piece of what all nodes have brought to a fence of these ranks. */
struct pmi_fenced {
	uint64_t run;
	struct storm_idset ranks;
	uint32_t all, at; /* bytes, and where this piece belongs */
	const uint8_t *data;
	size_t len;
};

size_t pmi_fenced_len(const struct pmi_fenced *f);
void pmi_fenced_put(struct storm_out *o, const struct pmi_fenced *f);
/* Likewise. */
bool pmi_fenced_get(struct storm_in *i, struct pmi_fenced *f);
void pmi_fenced_free(struct pmi_fenced *f);

#endif
