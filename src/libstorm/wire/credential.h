/*
 * credential.h - who opens a domain: MUNGE carries the session key.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CREDENTIAL_H
#define STORM_CREDENTIAL_H

#include "src/libstorm/storm.h"

/* The simulator brings its own pair; everyone else uses MUNGE. */
struct storm_credential_ops {
	/* *cred is a malloc()ed string that only agent_uid can decode. */
	int (*encode)(uint32_t agent_uid, const void *payload, size_t len,
		      char **cred);
	/* *payload is malloc()ed. STORM_EAUTH where it is refused. */
	int (*decode)(const char *cred, void **payload, size_t *len,
		      uint32_t *uid, uint32_t *gid);
};
/* Before any other call; not thread-safe. */
void storm_credential_use(const struct storm_credential_ops *ops);

/*
 * A node begins (1) or ends (-1) in this process.  Several of them have one munged
 * between them, to which all but the first who decode a credential replay it: while
 * there are several, what munged has let one decode the others may, too.  That a
 * node takes each OPEN once is its own affair (nm.c).
 */
void storm_credential_share(int nodes);

int storm_credential_encode(uint32_t agent_uid, const void *payload,
			    size_t len, char **cred);
int storm_credential_decode(const char *cred, void **payload, size_t *len,
			    uint32_t *uid, uint32_t *gid);

/* For what names itself the one occasion that it is good for: who made it counts,
 * and not when, nor that this host has decoded it before. */
int storm_credential_decode_stale(const char *cred, void **payload, size_t *len,
				  uint32_t *uid, uint32_t *gid);

#endif
