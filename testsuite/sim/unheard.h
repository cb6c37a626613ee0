/*
 * unheard.h - what the owner of a domain says to tests that do not listen.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_UNHEARD_H
#define STORM_UNHEARD_H

#include "src/libstorm/storm.h"

static inline void unheard_done(void *arg, void *token,
				struct storm_outcome *out)
{
	(void) arg;
	(void) token;
	storm_outcome_clear(out);
}

static inline void unheard_report(void *arg, const struct storm_report *r)
{
	(void) arg;
	(void) r;
}

static inline void unheard_fault(void *arg, const struct storm_fault *f)
{
	(void) arg;
	(void) f;
}

#endif
