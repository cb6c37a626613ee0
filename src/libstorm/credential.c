/*
 * credential.c - see credential.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <munge.h>
#include <stdlib.h>

#include "credential.h"

static int munge_encode_for(uint32_t agent_uid, const void *payload,
			    size_t len, char **cred)
{
	munge_ctx_t ctx = munge_ctx_create();
	munge_err_t rc;

	if (!ctx)
		return STORM_ENOMEM;
	rc = munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, (uid_t) agent_uid);
	if (rc == EMUNGE_SUCCESS)
		/* the payload is a key: a site's default may be no cipher */
		rc = munge_ctx_set(ctx, MUNGE_OPT_CIPHER_TYPE,
				   MUNGE_CIPHER_AES256);
	if (rc == EMUNGE_SUCCESS)
		rc = munge_encode(cred, ctx, payload, (int) len);
	if (rc != EMUNGE_SUCCESS)
		storm_log(STORM_LOG_ERROR, "munge: cannot make a credential: %s",
			  munge_ctx_strerror(ctx) ? munge_ctx_strerror(ctx) :
			  munge_strerror(rc));
	munge_ctx_destroy(ctx);
	return rc == EMUNGE_SUCCESS ? STORM_OK : STORM_EAUTH;
}

static int munge_decode_checked(const char *cred, void **payload, size_t *len,
				uint32_t *uid, uint32_t *gid)
{
	munge_ctx_t ctx = munge_ctx_create();
	int n = 0, cipher = MUNGE_CIPHER_NONE, err = STORM_EAUTH;
	uid_t only = (uid_t) MUNGE_UID_ANY, u;
	gid_t g;
	munge_err_t rc;

	if (!ctx)
		return STORM_ENOMEM;
	*payload = NULL;
	rc = munge_decode(cred, ctx, payload, &n, &u, &g);
	if (rc != EMUNGE_SUCCESS) {
		storm_log(STORM_LOG_ERROR, "munge: credential refused: %s",
			  munge_strerror(rc));
	} else if (munge_ctx_get(ctx, MUNGE_OPT_CIPHER_TYPE, &cipher) ||
		   cipher == MUNGE_CIPHER_NONE) {
		storm_log(STORM_LOG_ERROR,
			  "munge: credential of uid %u is not encrypted", u);
	} else if (munge_ctx_get(ctx, MUNGE_OPT_UID_RESTRICTION, &only) ||
		   only == (uid_t) MUNGE_UID_ANY) {
		storm_log(STORM_LOG_ERROR,
			  "munge: anyone could decode uid %u's credential", u);
	} else {
		*uid = u;
		*gid = g;
		*len = (size_t) n;
		err = STORM_OK;
	}
	if (err) {
		free(*payload);
		*payload = NULL;
	}
	munge_ctx_destroy(ctx);
	return err;
}

static struct storm_credential_ops use = {
	munge_encode_for, munge_decode_checked
};

void storm_credential_use(const struct storm_credential_ops *ops)
{
	use = *ops;
}

int storm_credential_encode(uint32_t agent_uid, const void *payload,
			    size_t len, char **cred)
{
	return use.encode(agent_uid, payload, len, cred);
}

int storm_credential_decode(const char *cred, void **payload, size_t *len,
			    uint32_t *uid, uint32_t *gid)
{
	return use.decode(cred, payload, len, uid, gid);
}
