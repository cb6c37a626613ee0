/*
 * agent_allow.h - storm.conf's AllowUsers and AllowHosts.  One thread only,
 * which may wait for a name service.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_ALLOW_H
#define STORM_AGENT_ALLOW_H

#include "src/libstorm/storm.h"

/* Does the list, as in storm.conf, allow this user; this host?  "" allows
 * all. */
bool agent_allow_user(const char *list, uint32_t uid, uint32_t gid);
bool agent_allow_host(const char *list, const struct storm_addr *host);

#endif
