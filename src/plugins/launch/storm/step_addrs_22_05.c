/*
 * step_addrs_22_05.c - see step_addrs.h.  The step's credential has the text.  It is
 * made for slurmd.  An sbcast credential has none.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/common/slurm_xlator.h"

#include "src/common/pack.h"
#include "src/common/slurm_protocol_common.h"
#include "src/common/xmalloc.h"
#include "src/slurm/cred.h"

#include "src/storm_common/alias_list.h"
#include "step_addrs.h"

static void step_addrs_of_text(struct step_addrs *out, const char *text)
{
	char name[STORM_NAME_MAX + 1];
	struct storm_addr addr;

	while (alias_list_next(&text, &name, &addr))
		step_addrs_add(out, name, &addr);
}

void step_addrs_of_step(struct step_addrs *out,
			const job_step_create_response_msg_t *resp)
{
	const char *text = resp->cred ?
				   slurm_cred_get_arg(resp->cred,
						      CRED_ARG_JOB_ALIAS_LIST) :
				   NULL;
	char *signature;
	uint32_t n;
	buf_t *buf;

	memset(out, 0, sizeof(*out));
	if (text)
		step_addrs_of_text(out, text);
	if (!out->count || slurm_cred_get_signature(resp->cred, &signature, &n))
		return;
	buf = init_buf(4096);
	slurm_cred_pack(resp->cred, buf, resp->use_protocol_ver);
	n = get_buf_offset(buf) - n - (uint32_t) sizeof(n);
	set_buf_offset(buf, 0);
	pack16(resp->use_protocol_ver, buf);
	pack32(n, buf);
	slurm_cred_pack(resp->cred, buf, resp->use_protocol_ver);
	out->proof_len = get_buf_offset(buf);
	out->proof = xfer_buf_data(buf);
}

/* Nothing here is signed.  Agents believe what an earlier step has brought. */
void step_addrs_of_nodes(struct step_addrs *out, const char *nodelist)
{
	const char *text = getenv("SLURM_NODE_ALIASES");

	(void) nodelist;
	memset(out, 0, sizeof(*out));
	if (text)
		step_addrs_of_text(out, text);
}
