/*
 * cred_22_05.c - see agent_cred.h.  The credential is opaque, and another context
 * verifies and copies its content.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <munge.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/pack.h"
#include "src/common/read_config.h"
#include "src/common/slurm_auth.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/slurm_protocol_common.h"
#include "src/common/xmalloc.h"
#include "src/slurm/cred.h"

#include "agent_cred.h"
#include "src/libstorm/base/addr.h"
#include "src/storm_common/alias_list.h"

static slurm_cred_ctx_t verifier;

bool agent_cred_start(void)
{
	/* cred/munge, the only verifier of 22.05, uses no key */
	verifier = slurm_cred_verifier_ctx_create(NULL);
	return verifier;
}

void agent_cred_stop(void)
{
	slurm_cred_ctx_destroy(verifier);
	slurm_cred_fini();
}

bool agent_cred_read(char *bytes, uint32_t len, uint16_t version,
		     struct agent_cred *out)
{
	buf_t *buf = create_buf(bytes, len);
	sbcast_cred_t *cred = unpack_sbcast_cred(buf, version);
	sbcast_cred_arg_t *arg = NULL;

	if (cred && !remaining_buf(buf))
		arg = extract_sbcast_cred(verifier, cred, 1, 0, version);
	delete_sbcast_cred(cred);
	free_buf(buf);
	if (!arg)
		return false;
	*out = (struct agent_cred) {
		.job_id = arg->job_id,
		.step_id = arg->step_id,
		.uid = arg->uid,
		.gid = arg->gid,
		.ngids = arg->gids ? arg->ngids : 0,
		.gids = arg->gids,
		.user_name = arg->user_name,
		.nodes = arg->nodes,
		.slurms = arg,
	};
	return true;
}

/* Is this what SlurmUser or root has signed?  The credential's parser is Slurm's and
 * large, so it reads nothing before that. */
static bool agent_cred_signed(const char *bytes, uint32_t len,
			      const char *signature)
{
	char *socket = slurm_auth_opts_to_socket(slurm_conf.authinfo);
	munge_ctx_t ctx = munge_ctx_create();
	void *payload = NULL;
	munge_err_t rc;
	uid_t uid = -1;
	gid_t gid;
	int n = 0;

	if (socket)
		munge_ctx_set(ctx, MUNGE_OPT_SOCKET, socket);
	rc = munge_decode(signature, ctx, &payload, &n, &uid, &gid);
	/* slurmd decodes it as well */
	if (rc == EMUNGE_CRED_REPLAYED)
		rc = EMUNGE_SUCCESS;
	if (rc == EMUNGE_SUCCESS &&
	    ((uid && uid != slurm_conf.slurm_user_id) || n < 0 ||
	     (uint32_t) n != len || memcmp(bytes, payload, len)))
		rc = EMUNGE_CRED_INVALID;
	free(payload);
	munge_ctx_destroy(ctx);
	xfree(socket);
	return rc == EMUNGE_SUCCESS;
}

/* The same step may open several sessions. */
static slurm_cred_arg_t *agent_cred_args(slurm_cred_t *cred)
{
	slurm_cred_arg_t *arg = slurm_cred_verify(verifier, cred);

	if (!arg && slurm_get_errno() == ESLURMD_CREDENTIAL_REPLAYED)
		arg = slurm_cred_get_args(cred);
	return arg;
}

static bool agent_cred_list(buf_t *buf, uint16_t version,
			    void (*found)(const char *name,
					  const struct storm_addr *addr))
{
	slurm_cred_t *cred = slurm_cred_unpack(buf, version);
	slurm_cred_arg_t *arg = cred ? agent_cred_args(cred) : NULL;
	const char *text = arg ? arg->job_alias_list : NULL;
	char name[STORM_NAME_MAX + 1];
	struct storm_addr addr;

	while (text && alias_list_next(&text, &name, &addr))
		if (!storm_addr_is_loopback(&addr))
			found(name, &addr);
	if (arg)
		slurm_cred_unlock_args(cred);
	slurm_cred_destroy(cred);
	return arg;
}

bool agent_cred_addrs(const char *bytes, uint32_t len,
		      void (*found)(const char *name,
				    const struct storm_addr *addr))
{
	char *copy = xmalloc(len + 1), *at = copy; /* and a 0 at the end */
	uint32_t n = 0, signature = 0;
	uint16_t version = 0;
	bool good = false;
	buf_t *buf;

	memcpy(copy, bytes, len);
	buf = create_buf(copy, len);
	if (!unpack16(&version, buf) && version <= SLURM_PROTOCOL_VERSION &&
	    version >= SLURM_MIN_PROTOCOL_VERSION && !unpack32(&n, buf) &&
	    n < remaining_buf(buf)) {
		at = copy + get_buf_offset(buf);
		set_buf_offset(buf, get_buf_offset(buf) + n);
		good = !unpack32(&signature, buf) &&
		       signature == remaining_buf(buf) &&
		       agent_cred_signed(at, n, copy + get_buf_offset(buf));
	}
	if (good) {
		set_buf_offset(buf, (uint32_t) (at - copy));
		good = agent_cred_list(buf, version, found);
	}
	free_buf(buf);
	return good;
}

void agent_cred_free(struct agent_cred *c)
{
	sbcast_cred_arg_free(c->slurms);
}
