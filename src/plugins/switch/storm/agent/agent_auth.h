/*
 * agent_auth.h - who sent an OPEN, and what that user may do.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_AUTH_H
#define STORM_AGENT_AUTH_H

#include <stddef.h>
#include <stdint.h>

struct agent;

/* 0, or -1 and the reason was logged. */
int agent_auth_start(struct agent *a);
void agent_auth_stop(struct agent *a);

/* struct storm_nm_ops: check it in a thread, then admit it or not. */
void agent_auth_open(void *host, uint64_t ticket, void *buf, size_t len);

#endif
