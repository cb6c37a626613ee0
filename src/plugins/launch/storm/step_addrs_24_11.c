/*
 * step_addrs_24_11.c - see step_addrs.h.  slurmctld signs the addresses themselves,
 * as slurmds hand on messages by them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/common/slurm_xlator.h"

#include "src/common/hostlist.h"
#include "src/common/pack.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_common.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "src/storm_common/node_addr.h"
#include "step_addrs.h"

static void step_addrs_of_slurm(struct step_addrs *out,
				const slurm_node_alias_addrs_t *a)
{
	struct hostlist *hl = hostlist_create(a->node_list);
	struct storm_addr addr;
	buf_t *buf;
	char *name;

	for (uint32_t i = 0; i < a->node_cnt && (name = hostlist_shift(hl));
	     i++) {
		if (node_addr_of_slurm(&a->node_addrs[i], &addr))
			step_addrs_add(out, name, &addr);
		free(name);
	}
	hostlist_destroy(hl);
	if (!out->count || !a->net_cred)
		return;
	buf = init_buf(4096);
	pack16(SLURM_PROTOCOL_VERSION, buf);
	packmem(a->net_cred, strlen(a->net_cred) + 1, buf);
	out->proof_len = get_buf_offset(buf);
	out->proof = xfer_buf_data(buf);
}

void step_addrs_of_step(struct step_addrs *out,
			const job_step_create_response_msg_t *resp)
{
	const slurm_step_layout_t *layout = resp->step_layout;

	memset(out, 0, sizeof(*out));
	if (layout && layout->alias_addrs)
		step_addrs_of_slurm(out, layout->alias_addrs);
}

/* Is slurm.conf silent on where one of them is? */
static bool step_addrs_are_needed(const char *nodelist)
{
	struct hostlist *hl = hostlist_create(nodelist);
	bool needed = false, dynamic;
	char *name;

	while (!needed && (name = hostlist_shift(hl))) {
		needed = slurm_conf_check_addr(name, &dynamic) || dynamic;
		free(name);
	}
	hostlist_destroy(hl);
	return needed;
}

void step_addrs_of_nodes(struct step_addrs *out, const char *nodelist)
{
	slurm_node_alias_addrs_t *a = NULL;

	memset(out, 0, sizeof(*out));
	if (!step_addrs_are_needed(nodelist) ||
	    slurm_get_node_alias_addrs((char *) nodelist, &a))
		return;
	step_addrs_of_slurm(out, a);
	slurm_free_node_alias_addrs(a);
}
