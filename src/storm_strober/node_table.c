/*
 * node_table.c - see node_table.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "node_table.h"
#include "src/storm_common/node_addr.h"
#include "src/storm_common/node_list.h"
#include "src/storm_common/strober_protocol.h"

/* So many nodes on which nothing is shared may lack an address.  More: names cannot be
 * looked up now. */
#define LOST_MAX 8
/* Nobody answers there (TEST-NET-1, RFC 5737). */
#define NOWHERE "192.0.2.1"

static struct {
	struct table_node *node;
	uint32_t count;
} table;

static void node_table_clear(void)
{
	for (uint32_t i = 0; i < table.count; i++) {
		xfree(table.node[i].name);
		xfree(table.node[i].place);
	}
	xfree(table.node);
	table.count = 0;
}

/* The text at *p, which moves behind its NUL; "" at the end. */
static const char *node_table_text(const char **p, const char *end)
{
	const char *text = *p < end ? *p : "";

	*p += *p < end ? strlen(text) + 1 : 0;
	return text;
}

void node_table_set(const char *names, size_t len)
{
	const char *p = names, *end = names + len;
	uint32_t room = 0;

	node_table_clear();
	if (!len || names[len - 1])
		return;
	node_list_renew();
	while (p < end) {
		struct table_node *n;

		if (table.count == room) {
			room = room * 2 + 64;
			xrecalloc(table.node, room, sizeof(*table.node));
		}
		n = &table.node[table.count++];
		n->name = xstrdup(node_table_text(&p, end));
		n->place = xstrdup(node_table_text(&p, end));
		n->port =
			(uint16_t) strtoul(node_table_text(&p, end), NULL, 10);
		n->shares = !strcmp(node_table_text(&p, end), STROBER_SHARES);
	}
}

uint32_t node_table_count(void)
{
	return table.count;
}

const struct table_node *node_table_get(uint32_t i)
{
	return &table.node[i];
}

bool node_table_shares(void)
{
	for (uint32_t i = 0; i < table.count; i++)
		if (table.node[i].shares)
			return true;
	return false;
}

/* Where a cloud node is slurmctld alone knows. */
static void node_table_place(struct storm_node *n, const char *place,
			     uint16_t port)
{
	char *bcast = slurm_conf_get_bcast_address(n->name);

	if (!bcast && storm_addr_set(&n->addr, place, port))
		n->addr.port = 0;
	xfree(bcast);
}

/* A wrong line for one node must not keep the others from the domain.  False: jobs share
 * this one, or there are too many such nodes. */
static bool node_table_lose(struct storm_node *n, uint32_t i, uint16_t port)
{
	uint32_t lost = 0;

	if (table.node[i].shares || storm_addr_set(&n->addr, NOWHERE, port))
		return false;
	table.node[i].lost = true;
	for (uint32_t k = 0; k < table.count; k++)
		lost += table.node[k].lost;
	return lost <= LOST_MAX && lost < table.count;
}

/* slurmd listens at NodeAddr, its agent at BcastAddr if there is one. */
static void node_table_keep(uint32_t i, const struct storm_addr *agent)
{
	struct table_node *n = &table.node[i];

	n->agent = *agent;
	if (storm_addr_set(&n->slurmd, n->place, n->port)) {
		n->slurmd = *agent;
		n->slurmd.port = n->port;
	}
	if (n->lost)
		error("node %s is not watched: Slurm has no address for it: check NodeAddr in slurm.conf",
		      n->name);
}

struct storm_node *node_table_addresses(uint16_t port, uint32_t *failed)
{
	struct storm_node *nodes = xcalloc(table.count + 1, sizeof(*nodes));

	for (uint32_t i = 0; i < table.count; i++) {
		table.node[i].lost = false;
		nodes[i].name = table.node[i].name;
		node_table_place(&nodes[i], table.node[i].place, port);
	}
	do
		*failed = node_addr_all(nodes, table.count, port);
	while (*failed < table.count &&
	       node_table_lose(&nodes[*failed], *failed, port));
	if (*failed < table.count) {
		xfree(nodes);
		return NULL;
	}
	for (uint32_t i = 0; i < table.count; i++)
		node_table_keep(i, &nodes[i].addr);
	return nodes;
}
