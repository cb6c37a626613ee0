/*
 * credential.h - MUNGE credentials: they carry the session key and prove which
 * user opens a domain.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CREDENTIAL_H
#define STORM_CREDENTIAL_H

#include "src/libstorm/storm.h"

/* The simulator has a pair of its own; everything else uses MUNGE. */
struct storm_credential_ops {
	/* *cred: a malloc()ed string that only agent_uid can decode.  STORM_OK,
	 * STORM_ENOMEM, or STORM_EAUTH: MUNGE failed, and it was logged. */
	int (*encode)(uint32_t agent_uid, const void *payload, size_t len,
		      char **cred);
	/* *payload: malloc()ed, *len bytes.  uid, gid: the user that made
	 * cred.  STORM_OK; STORM_EAUTH: refused, which was logged, as a
	 * STORM_REFUSAL() where the sender may know why (base/auth_reason.h);
	 * STORM_ENOMEM. */
	int (*decode)(const char *cred, void **payload, size_t *len,
		      uint32_t *uid, uint32_t *gid);
};
/* Before any other call; not thread-safe. */
void storm_credential_use(const struct storm_credential_ops *ops);

/*
 * Count a node that begins (1) or ends (-1) in this process.  munged lets a
 * host decode a credential once, and calls every later attempt a replay.  While
 * the process has several nodes, each of them may decode what another one has
 * decoded.  That a node accepts each OPEN only once is up to nm.c.  Any thread.
 */
void storm_credential_share(int nodes);

/* As the operations above; any thread. */
int storm_credential_encode(uint32_t agent_uid, const void *payload, size_t len,
			    char **cred);
int storm_credential_decode(const char *cred, void **payload, size_t *len,
			    uint32_t *uid, uint32_t *gid);

/* Decode also a credential that has expired or was decoded before.  For
 * payloads that name the one occasion for which they are valid. */
int storm_credential_decode_stale(const char *cred, void **payload, size_t *len,
				  uint32_t *uid, uint32_t *gid);

#endif
