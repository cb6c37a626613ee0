/*
 * context.h - a step's network context on its way from slurmctld to slurmstepd
 * (architecture: Flows, "Context").
 *
 * It travels in the step's jobinfo, through a srun that is its user's.  What the
 * nodes act on is therefore a MUNGE credential of slurmctld's, which slurmd's user
 * alone can decode, over the context and over the step that it is for.  Beside it
 * the jobinfo tells in the open what slurmctld itself has to find there when it is
 * restarted, and no secret.
 *
 * No Slurm header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONTEXT_H
#define STORM_CONTEXT_H

#include <stddef.h>

#include "context_table.h"

struct context {
	/* the step, as slurmstepd knows it, too */
	uint32_t job, step, het;
	uint32_t uid;
	struct context_holder holder;
	/* what it has leased */
	uint32_t id;
	uint64_t serial;
	uint32_t group;		/* IPv4, in the host's order */
	uint8_t key[CONTEXT_KEY_LEN];
};

/* The jobinfo's bytes. */
#define CONTEXT_CRED_MAX 1024
#define CONTEXT_BYTES_MAX (64 + CONTEXT_CRED_MAX)

/* cred may be NULL. The length, or 0: the credential is too long. */
size_t context_pack(const struct context *c, const char *cred,
		    uint8_t out[CONTEXT_BYTES_MAX]);
/* All but uid and key, which are zero.  cred: "" where there is none.  False: that
 * is none. */
bool context_unpack(const void *bytes, size_t len, struct context *c,
		    char cred[CONTEXT_CRED_MAX + 1]);

/* slurmctld's credential for it, to be freed with free(); NULL: MUNGE refuses, the
 * log says why.  Only node_uid can decode it. */
char *context_sign(const struct context *c, const char *cluster,
		   uint32_t node_uid);

/* What a node knows for itself of the step that it is to start. */
struct context_expected {
	uint32_t job, step, het;
	uint32_t uid;
	uint32_t ctld_uid;	/* SlurmUser; root may, too */
	const char *cluster;
};

/* Is it the context that slurmctld has given this step?  True, and *c with the key;
 * or false and why, the end of a sentence. */
#define CONTEXT_WHY_MAX 256
bool context_verify(const void *bytes, size_t len,
		    const struct context_expected *e, struct context *c,
		    char why[CONTEXT_WHY_MAX]);

/* As tasks find them: "239.195.0.1" and 64 hexadecimal digits. */
#define CONTEXT_GROUP_TEXT 16
#define CONTEXT_KEY_TEXT (2 * CONTEXT_KEY_LEN + 1)
void context_group_text(uint32_t group, char out[CONTEXT_GROUP_TEXT]);
void context_key_text(const uint8_t key[CONTEXT_KEY_LEN],
		      char out[CONTEXT_KEY_TEXT]);

#endif
