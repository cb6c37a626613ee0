/*
 * caps.h - a daemon drops the capabilities that it does not need.  The lists
 * are those of storm_agent(8) and storm_strober(8); testsuite/cluster/
 * test_capabilities.py compares them with what runs.  Nothing here depends on
 * Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CAPS_H
#define STORM_CAPS_H

#include <linux/capability.h>
#include <stdint.h>

#define CAPS_BIT(cap) (UINT64_C(1) << (cap))

/*
 * Keep those capabilities of the mask that the caller has, and no others, for
 * good: the bounding and the ambient set shrink with them, none is inherited,
 * and no program that it runs gets more (no_new_privs).  This concerns the
 * calling thread and those that it starts later, so call it before any is
 * started.  0, or -1 and errno.
 */
int caps_keep(uint64_t mask);

#endif
