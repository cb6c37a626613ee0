/*
 * step_health.h - does every node of a step say that it is well (health_word.h)?
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_HEALTH_H
#define STORM_STEP_HEALTH_H

#include "step_domain.h"

/*
 * Ask all nodes of the domain, which is open, by one COMPARE-AND-WRITE.  Warn of those
 * that are not well, by name and cause.  Nothing else follows.  What is sent already
 * goes on meanwhile.  It waits for the answer, at most OpTimeout.
 */
void step_health_look(const struct step_domain *sd);

#endif
