/*
 * gang_policy.c - see gang_policy.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stddef.h>
#include <strings.h>

#include "gang_policy.h"

static const char *const gang_policy_names[GANG_POLICIES] = {
	[GANG_POLICY_GANG] = "gang",
	[GANG_POLICY_FLEXIBLE] = "flexible",
	[GANG_POLICY_YIELD] = "yield",
};

const char *gang_policy_name(unsigned int policy)
{
	return policy < GANG_POLICIES ? gang_policy_names[policy] : NULL;
}

enum gang_policy gang_policy_find(const char *name)
{
	unsigned int i = 0;

	while (i < GANG_POLICIES && strcasecmp(name, gang_policy_names[i]))
		i++;
	return (enum gang_policy) i;
}
