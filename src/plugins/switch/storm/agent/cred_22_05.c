/*
 * cred_22_05.c - see agent_cred.h.  The credential is opaque, and another context
 * verifies and copies its content.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm.h"
#include "src/common/pack.h"
#include "src/slurm/cred.h"

#include "agent_cred.h"

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

void agent_cred_free(struct agent_cred *c)
{
	sbcast_cred_arg_free(c->slurms);
}
