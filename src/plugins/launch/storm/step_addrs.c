/*
 * step_addrs.c - see step_addrs.h.  What differs between Slurm's releases is in
 * step_addrs_*.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <string.h>

#include "src/common/slurm_xlator.h"

#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "src/libstorm/base/addr.h"
#include "step_addrs.h"

void step_addrs_add(struct step_addrs *out, const char *name,
		    const struct storm_addr *addr)
{
	/* slurmctld's own host may be a node */
	if (storm_addr_is_loopback(addr))
		return;
	xrecalloc(out->name, out->count + 1, sizeof(*out->name));
	xrecalloc(out->addr, out->count + 1, sizeof(*out->addr));
	out->name[out->count] = xstrdup(name);
	out->addr[out->count++] = *addr;
}

void step_addrs_clear(struct step_addrs *a)
{
	for (uint32_t i = 0; i < a->count; i++)
		xfree(a->name[i]);
	xfree(a->name);
	xfree(a->addr);
	xfree(a->proof);
	a->count = a->proof_len = 0;
}

static bool step_addrs_has_bcast(const char *name)
{
	char *text = slurm_conf_get_bcast_address(name);
	bool has = text != NULL;

	xfree(text);
	return has;
}

void step_addrs_fill(const struct step_addrs *a, struct storm_node *nodes,
		     uint32_t count, uint16_t port)
{
	uint32_t at = 0; /* both lists are in the same order, mostly */

	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = 0;

		while (n < a->count && strcmp(a->name[at], nodes[i].name)) {
			at = (at + 1) % a->count;
			n++;
		}
		if (n == a->count || step_addrs_has_bcast(nodes[i].name))
			continue;
		nodes[i].addr = a->addr[at];
		nodes[i].addr.port = port;
	}
}
