/*
 * job_nodes.c - see job_nodes.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "job_nodes.h"
#include "run_names.h"
#include "src/libstorm/base/idset.h"

bool job_nodes_read(char *text, const char **list)
{
	/* ReqNodeList and others are before it */
	char *at = strstr(text, " NodeList=");

	if (!at)
		return false;
	*list = at + strlen(" NodeList=");
	at += strlen(" NodeList=");
	at[strcspn(at, " ")] = '\0';
	return *at && strcmp(at, "(null)") != 0;
}

uint32_t job_nodes_keep(const char *list, const struct storm_node *nodes,
			uint32_t n, uint32_t *cpus)
{
	char unknown[STORM_NAME_MAX + 1];
	struct storm_idset left = { 0 };
	const char *why;
	uint32_t kept = 0;

	/* a node that it did not have has joined: what CPUs it has nobody knows */
	if (!run_names_read(list, nodes, n, &left, &unknown, &why) ||
	    *unknown) {
		storm_idset_clear(&left);
		return 0;
	}
	for (uint32_t k = 0; k < n; k++)
		if (storm_idset_has(&left, k))
			cpus[kept++] = cpus[k];
	storm_idset_clear(&left);
	return kept;
}
