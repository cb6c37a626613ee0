/*
 * agent_auth.h - authenticates and authorizes the sender of an OPEN.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_AUTH_H
#define STORM_AGENT_AUTH_H

#include <stddef.h>
#include <stdint.h>

struct agent;
struct storm_addr;

/* Start the thread that checks credentials.  0; or -1, and the reason is in the
 * log. */
int agent_auth_start(struct agent *a);
void agent_auth_stop(struct agent *a);

/*
 * authenticate() of struct storm_nm_ops.  Takes buf, which is malloc()ed.
 * Checks the OPEN in a worker thread, then calls storm_nm_admit().
 */
void agent_auth_open(void *host, uint64_t ticket, const struct storm_addr *from,
		     void *buf, size_t len);
/* route() of struct storm_nm_ops.  An address that is not known is looked up
 * meanwhile. */
int agent_auth_route(void *host, const char *name,
		     const struct storm_addr *addr);

#endif
