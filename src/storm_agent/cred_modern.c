/*
 * cred_modern.c - see agent_cred.h.  Slurm 24.11 and later: unpacking verifies the
 * credential if the message is a file's first block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/hostlist.h"
#include "src/common/identity.h"
#include "src/common/pack.h"
#include "src/common/slurm_protocol_defs.h"
#include "src/common/xmalloc.h"
#include "src/slurm/cred.h"

#include "agent_cred.h"
#include "src/libstorm/base/addr.h"
#include "src/storm_common/node_addr.h"

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

bool agent_cred_addrs(const char *bytes, uint32_t len,
		      void (*found)(const char *name,
				    const struct storm_addr *addr))
{
	slurm_node_alias_addrs_t *a = NULL;
	char *copy = xmalloc(len), *signed_text = NULL, *name;
	uint32_t text_len;
	struct hostlist *hl = NULL;
	struct storm_addr addr;
	uint16_t version;
	bool good;
	buf_t *buf;

	memcpy(copy, bytes, len);
	buf = create_buf(copy, len);
	/* it is read only after the signature was good */
	if (!unpack16(&version, buf) && version <= SLURM_PROTOCOL_VERSION &&
	    !unpackstr_xmalloc(&signed_text, &text_len, buf) && signed_text &&
	    !remaining_buf(buf))
		a = extract_net_cred(signed_text, version);
	if (a)
		hl = hostlist_create(a->node_list);
	for (uint32_t i = 0; hl && i < a->node_cnt; i++) {
		name = hostlist_shift(hl);
		if (name && strlen(name) <= STORM_NAME_MAX &&
		    node_addr_of_slurm(&a->node_addrs[i], &addr) &&
		    !storm_addr_is_loopback(&addr))
			found(name, &addr);
		free(name);
	}
	if (hl)
		hostlist_destroy(hl);
	good = a != NULL;
	slurm_free_node_alias_addrs(a);
	xfree(signed_text);
	free_buf(buf);
	return good;
}

void agent_cred_free(struct agent_cred *c)
{
	delete_sbcast_cred(c->slurms);
}
