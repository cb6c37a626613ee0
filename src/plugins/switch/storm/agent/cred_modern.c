/*
 * cred_modern.c - see agent_cred.h.  Slurm 24.11 and later: unpacking verifies the
 * credential if the message is a file's first block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm.h"
#include "src/common/identity.h"
#include "src/common/pack.h"
#include "src/common/slurm_protocol_defs.h"
#include "src/slurm/cred.h"

#include "agent_cred.h"

bool agent_cred_start(void)
{
	slurm_init(NULL); /* ends the process if a plugin is missing */
	return true;
}

void agent_cred_stop(void)
{
	slurm_fini();
}

bool agent_cred_read(char *bytes, uint32_t len, uint16_t version,
		     struct agent_cred *out)
{
	file_bcast_msg_t first = { .block_no = 1 };
	buf_t *buf = create_buf(bytes, len);
	sbcast_cred_t *cred = unpack_sbcast_cred(buf, &first, version);
	bool good = cred && cred->verified && cred->arg.id && cred->arg.nodes &&
		    !remaining_buf(buf);

	free_buf(buf);
	if (!good) {
		delete_sbcast_cred(cred);
		return false;
	}
	*out = (struct agent_cred) {
		.job_id = cred_sbcast_job(&cred->arg),
		.step_id = cred_sbcast_step(&cred->arg),
		.uid = cred->arg.id->uid,
		.gid = cred->arg.id->gid,
		.ngids = cred->arg.id->gids ? cred->arg.id->ngids : 0,
		.gids = cred->arg.id->gids,
		.user_name = cred->arg.id->pw_name,
		.nodes = cred->arg.nodes,
		.slurms = cred,
	};
	return true;
}

void agent_cred_free(struct agent_cred *c)
{
	delete_sbcast_cred(c->slurms);
}
