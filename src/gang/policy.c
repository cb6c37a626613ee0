/*
 * policy.c - the list of policies: see policy.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "policy.h"

/* All have gang's rows and slots.  What differs is done by each node alone: who fills
 * gaps (turns_fill.c), and who gives way in place of standing (turns_apply.c). */
static const struct policy *const policies[GANG_POLICIES] = {
	[GANG_POLICY_GANG] = &policy_gang,
	[GANG_POLICY_FLEXIBLE] = &policy_gang,
	[GANG_POLICY_YIELD] = &policy_gang,
};

const struct policy *policy_of(enum gang_policy which)
{
	return which < GANG_POLICIES ? policies[which] : &policy_gang;
}
