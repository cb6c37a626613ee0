/*
 * shrink.h - finds a short schedule that still shows a violation, by delta
 * debugging (A. Zeller, R. Hildebrandt, "Simplifying and Isolating
 * Failure-Inducing Input", IEEE Trans.  Software Eng. 28(2), 2002): it leaves
 * out nodes, and parts of the list of faults and operations, as long as there
 * is a violation.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SIM_SHRINK_H
#define STORM_SIM_SHRINK_H

#include "scenario.h"

/* Does s fail?  arg as for shrink_scenario(). */
typedef bool (*shrink_fails)(const struct scenario *s, void *arg);

/* Returns a shorter scenario that fails as well, which the caller frees.  s
 * fails, and is settled. */
struct scenario *shrink_scenario(const struct scenario *s, shrink_fails fails,
				 void *arg);

#endif
