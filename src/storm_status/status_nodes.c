/*
 * status_nodes.c - see status_nodes.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "slurm/slurm.h"
#include "src/common/hostlist.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "src/storm_common/node_addr.h"
#include "status_nodes.h"

/* Only slurmctld knows where such a node is, and whether it is there; or it has no
 * slurmd. */
static bool status_is_elsewhere(const slurm_conf_node_t *line)
{
	return xstrcasestr(line->state, "CLOUD") ||
	       xstrcasestr(line->state, "EXTERNAL") ||
	       xstrcasestr(line->state, "FUTURE");
}

/* NULL: it is no list.  hostlist_destroy() it. */
static struct hostlist *status_names(const char *list)
{
	struct hostlist *hl = hostlist_create(list);
	slurm_conf_node_t **line;
	int lines;

	if (list || !hl)
		return hl;
	lines = slurm_conf_nodename_array(&line);
	for (int i = 0; i < lines; i++)
		if (xstrcasecmp(line[i]->nodenames, "DEFAULT") &&
		    !status_is_elsewhere(line[i]))
			hostlist_push(hl, line[i]->nodenames);
	return hl;
}

/* Look up all side by side.  A name without an address is one that Slurm does not
 * know. */
static void status_nodes_place(struct status_nodes *n, uint16_t port)
{
	struct storm_node *is = xcalloc(n->count, sizeof(*is));
	uint32_t *of = xcalloc(n->count, sizeof(*of));
	uint32_t left = n->count, bad;

	for (uint32_t i = 0; i < n->count; i++) {
		is[i] = n->node[i].is;
		of[i] = i;
	}
	while ((bad = node_addr_all(is, left, port)) < left) {
		n->node[of[bad]].silent = true;
		n->node[of[bad]].got.why = STORM_EINVAL;
		is[bad] = is[--left];
		of[bad] = of[left];
	}
	for (uint32_t i = 0; i < left; i++)
		n->node[of[i]].is = is[i];
	xfree(is);
	xfree(of);
}

bool status_nodes_find(const char *list, uint16_t port,
		       struct status_nodes *out)
{
	struct hostlist *hl = status_names(list);
	char *name;

	*out = (struct status_nodes) { 0 };
	if (!hl || !hostlist_count(hl)) {
		fprintf(stderr, "storm: %s: no nodes\n",
			list ? list : "slurm.conf");
		if (hl)
			hostlist_destroy(hl);
		return false;
	}
	hostlist_uniq(hl);
	out->node = xcalloc(hostlist_count(hl), sizeof(*out->node));
	while ((name = hostlist_shift(hl))) {
		struct status_node *n = &out->node[out->count++];

		n->is.name = n->name = xstrdup(name);
		free(name);
	}
	hostlist_destroy(hl);
	status_nodes_place(out, port);
	return true;
}

void status_nodes_clear(struct status_nodes *n)
{
	for (uint32_t i = 0; i < n->count; i++)
		xfree(n->node[i].name);
	xfree(n->node);
	n->count = 0;
}

void status_nodes_copy(const struct status_nodes *from,
		       struct status_nodes *out)
{
	*out = (struct status_nodes) { .count = from->count };
	out->node = xcalloc(from->count, sizeof(*out->node));
	for (uint32_t i = 0; i < from->count; i++) {
		out->node[i] = from->node[i];
		out->node[i].name = xstrdup(from->node[i].name);
		out->node[i].is.name = out->node[i].name;
	}
}
