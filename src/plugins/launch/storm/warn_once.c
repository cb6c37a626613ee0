/*
 * warn_once.c - storm_warn_once() of bcast.h, without the rest of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "src/common/slurm_xlator.h"

#include "src/common/log.h"
#include "src/common/macros.h"

#include "bcast.h"

void storm_warn_once(const char *why, const char *otherwise)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool warned;

	slurm_mutex_lock(&lock);
	if (warned)
		verbose("storm: %s; %s", why, otherwise);
	else
		info("warning: storm: %s; %s", why, otherwise);
	warned = true;
	slurm_mutex_unlock(&lock);
}
