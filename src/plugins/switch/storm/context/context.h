/*
 * context.h - a step's network context between slurmctld and slurmstepd
 * (doc/protocol.md, "From slurmctld to the tasks").
 *
 * It is in the step's jobinfo, which passes through the user's srun.  So nodes
 * trust only a MUNGE credential of slurmctld over the context and its step,
 * which only slurmd's user can decode.  The jobinfo also has, in the open, what
 * slurmctld needs after a restart.  That part contains no secret.
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
	/* the step's ids, as in slurmstepd */
	uint32_t job, step, het;
	uint32_t uid;
	struct context_holder holder;
	/* its lease */
	uint32_t id;
	uint64_t serial;
	uint32_t group; /* IPv4, in the host's order */
	uint8_t key[CONTEXT_KEY_LEN];
};

/* Why a step has no context.  The number is in jobinfo as one byte, unless it
 * is CONTEXT_DISABLED. */
enum context_left {
	CONTEXT_DISABLED = 0,
	CONTEXT_LEASED = 1, /* it has one */
	CONTEXT_USED_UP = 2,
	CONTEXT_QUOTA = 3, /* its user has as many as it may have */
};

/* The jobinfo's bytes. */
#define CONTEXT_CRED_MAX 1024
#define CONTEXT_BYTES_MAX (64 + CONTEXT_CRED_MAX)

/* Pack the context, without uid and key, and cred, which may be NULL.  Returns
 * the length in bytes; 0: cred is too long. */
size_t context_pack(const struct context *c, const char *cred,
		    uint8_t out[static CONTEXT_BYTES_MAX]);
/* Unpack *c, whose uid and key become zero, and *cred, which is "" if there is
 * none.  False: the bytes are malformed. */
bool context_unpack(const void *bytes, size_t len, struct context *c,
		    char (*cred)[CONTEXT_CRED_MAX + 1]);

/* Make slurmctld's credential for a context, which only node_uid can decode;
 * the caller frees it with free().  NULL: MUNGE failed, which was logged. */
char *context_sign(const struct context *c, const char *cluster,
		   uint32_t node_uid);

/* What the node itself knows of the step that it starts. */
struct context_expected {
	uint32_t job, step, het;
	uint32_t uid;
	uint32_t ctld_uid; /* SlurmUser; root is accepted, too */
	const char *cluster;
};

/* Are these bytes the context that slurmctld leased to this step?  True: *c has
 * it, with the key.  False: *why has the reason, as the end of a sentence. */
#define CONTEXT_WHY_MAX 256
bool context_verify(const void *bytes, size_t len,
		    const struct context_expected *e, struct context *c,
		    char (*why)[CONTEXT_WHY_MAX]);

/* Write the values for the tasks' environment: "239.195.0.1"; 64 hexadecimal
 * digits. */
#define CONTEXT_GROUP_TEXT 16
#define CONTEXT_KEY_TEXT (2 * CONTEXT_KEY_LEN + 1)
void context_group_text(uint32_t group, char (*out)[CONTEXT_GROUP_TEXT]);
void context_key_text(const uint8_t key[CONTEXT_KEY_LEN],
		      char (*out)[CONTEXT_KEY_TEXT]);

#endif
