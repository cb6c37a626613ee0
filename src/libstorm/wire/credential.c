/*
 * credential.c - see credential.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <munge.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "credential.h"
#include "src/libstorm/base/auth_reason.h"
#include "src/libstorm/base/log_limit.h"
#include "wire.h"

static int credential_munge_encode(uint32_t agent_uid, const void *payload,
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
		storm_log(STORM_LOG_ERROR,
			  "munge: cannot create a credential: "
			  "%s; is munged running?",
			  munge_ctx_strerror(ctx) ? munge_ctx_strerror(ctx) :
						    munge_strerror(rc));
	munge_ctx_destroy(ctx);
	return rc == EMUNGE_SUCCESS ? STORM_OK : STORM_EAUTH;
}

/* Credentials that the nodes of this process share.  They are fewer than the past
 * sessions that nm.c remembers, so that no node accepts an OPEN twice. */
#define SHARED 16
static struct {
	pthread_mutex_t lock;
	int nodes;
	char *decoded[SHARED];
	unsigned int next;
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void credential_forget(char **cred)
{
	if (*cred)
		explicit_bzero(*cred, strlen(*cred));
	free(*cred);
	*cred = NULL;
}

void storm_credential_share(int nodes)
{
	pthread_mutex_lock(&shared.lock);
	shared.nodes += nodes;
	for (int i = 0; shared.nodes < 2 && i < SHARED; i++)
		credential_forget(&shared.decoded[i]);
	pthread_mutex_unlock(&shared.lock);
}

static munge_err_t credential_decode_shared(const char *cred, munge_ctx_t ctx,
					    void **payload, int *n, uid_t *u,
					    gid_t *g)
{
	char **keep = &shared.decoded[shared.next % SHARED];
	munge_err_t rc = munge_decode(cred, ctx, payload, n, u, g);

	/* a replay is ours if another node here has decoded it */
	for (int i = 0; rc == EMUNGE_CRED_REPLAYED && i < SHARED; i++)
		if (shared.decoded[i] && !strcmp(shared.decoded[i], cred))
			return EMUNGE_SUCCESS;
	if (rc != EMUNGE_SUCCESS)
		return rc;
	credential_forget(keep);
	*keep = strdup(cred);
	if (*keep)
		shared.next++;
	return rc;
}

static munge_err_t credential_decode_any(const char *cred, munge_ctx_t ctx,
					 void **payload, int *n, uid_t *u,
					 gid_t *g)
{
	munge_err_t rc;

	pthread_mutex_lock(&shared.lock);
	rc = shared.nodes > 1 ?
		     credential_decode_shared(cred, ctx, payload, n, u, g) :
		     munge_decode(cred, ctx, payload, n, u, g);
	pthread_mutex_unlock(&shared.lock);
	return rc;
}

/* Authentic, but not fresh. */
static bool credential_is_stale(munge_err_t rc)
{
	return rc == EMUNGE_CRED_EXPIRED || rc == EMUNGE_CRED_REWOUND ||
	       rc == EMUNGE_CRED_REPLAYED;
}

/*
 * MUNGE has refused it: what the sender may know.  That munged is down is nobody's
 * secret.  Only of an authentic credential, which is for this user, does munged say
 * that it is too old, or of time to come.  Nothing is said of one that was decoded
 * before.
 */
static int credential_refused(munge_ctx_t ctx, munge_err_t rc,
			      const struct storm_log_source *from)
{
	time_t made, now;

	if ((rc == EMUNGE_CRED_EXPIRED || rc == EMUNGE_CRED_REWOUND) &&
	    !munge_ctx_get(ctx, MUNGE_OPT_ENCODE_TIME, &made) &&
	    !munge_ctx_get(ctx, MUNGE_OPT_DECODE_TIME, &now)) {
		storm_log_from(
			from, STORM_LOG_ERROR,
			"munge: credential refused: %s: the sender's clock and this host's differ by %lld s, unless somebody repeats an old one",
			munge_strerror(rc),
			now < made ? (long long) (made - now) :
				     (long long) (now - made));
		return STORM_REFUSAL(STORM_EAUTH,
				     storm_auth_clock((int64_t) now - made));
	}
	storm_log_from(from, STORM_LOG_ERROR, "munge: credential refused: %s",
		       munge_strerror(rc));
	return rc == EMUNGE_SOCKET ?
		       STORM_REFUSAL(STORM_EAUTH, STORM_AUTH_NO_MUNGED) :
		       STORM_EAUTH;
}

static int credential_munge_check(const char *cred, bool stale_too,
				  void **payload, size_t *len, uint32_t *uid,
				  uint32_t *gid)
{
	munge_ctx_t ctx = munge_ctx_create();
	int n = 0, cipher = MUNGE_CIPHER_NONE, err = STORM_EAUTH;
	struct storm_log_source from = { 0 };
	uid_t only = (uid_t) MUNGE_UID_ANY, u = 0;
	gid_t g;
	munge_err_t rc;

	if (!ctx)
		return STORM_ENOMEM;
	*payload = NULL;
	rc = credential_decode_any(cred, ctx, payload, &n, &u, &g);
	if (stale_too && credential_is_stale(rc))
		rc = EMUNGE_SUCCESS;
	from.uid = u;
	if (rc != EMUNGE_SUCCESS) {
		err = credential_refused(ctx, rc, &from);
	} else if (munge_ctx_get(ctx, MUNGE_OPT_CIPHER_TYPE, &cipher) ||
		   cipher == MUNGE_CIPHER_NONE) {
		storm_log_from(&from, STORM_LOG_ERROR,
			       "munge: credential of uid %u is not encrypted",
			       u);
	} else if (munge_ctx_get(ctx, MUNGE_OPT_UID_RESTRICTION, &only) ||
		   only == (uid_t) MUNGE_UID_ANY) {
		storm_log_from(
			&from, STORM_LOG_ERROR,
			"munge: credential of uid %u is not restricted to "
			"the agent's user",
			u);
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

static int credential_munge_decode(const char *cred, void **payload,
				   size_t *len, uint32_t *uid, uint32_t *gid)
{
	return credential_munge_check(cred, false, payload, len, uid, gid);
}

static struct storm_credential_ops use = { credential_munge_encode,
					   credential_munge_decode };

void storm_credential_use(const struct storm_credential_ops *ops)
{
	use = *ops;
}

int storm_credential_encode(uint32_t agent_uid, const void *payload, size_t len,
			    char **cred)
{
	return use.encode(agent_uid, payload, len, cred);
}

int storm_credential_decode(const char *cred, void **payload, size_t *len,
			    uint32_t *uid, uint32_t *gid)
{
	return use.decode(cred, payload, len, uid, gid);
}

int storm_credential_decode_stale(const char *cred, void **payload, size_t *len,
				  uint32_t *uid, uint32_t *gid)
{
	if (use.decode != credential_munge_decode)
		return use.decode(cred, payload, len, uid, gid);
	return credential_munge_check(cred, true, payload, len, uid, gid);
}
