/*
 * agent_cred.h - reads Slurm's sbcast credential, which slurmctld signs.  Its
 * form is the release's: cred_22_05.c, cred_modern.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_CRED_H
#define STORM_AGENT_CRED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/libstorm/storm.h"

struct agent_cred {
	uint32_t job_id, step_id;
	uid_t uid;
	gid_t gid;
	int ngids; /* 0: the groups are not known */
	const gid_t *gids;
	const char *user_name;
	const char *nodes; /* a list of hosts */
	void *slurms;	   /* Slurm's object, which owns all of these */
};

/* Load Slurm's plugin that reads credentials, before there are threads.  False:
 * it is missing, which was logged. */
bool agent_cred_start(void);
void agent_cred_stop(void);

/* Read a credential into *out.  bytes: xmalloc()ed, and taken over.  version:
 * Slurm's protocol version.  False: slurmctld has not signed it, or it has
 * expired or is malformed.  One thread only. */
bool agent_cred_read(char *bytes, uint32_t len, uint16_t version,
		     struct agent_cred *out);
void agent_cred_free(struct agent_cred *c);

/* Call found() for each address of a node that slurmctld has signed
 * (step_protocol.h).  False: slurmctld has not signed it, or it has expired or
 * is malformed, and found() was not called.  One thread only. */
bool agent_cred_addrs(const char *bytes, uint32_t len,
		      void (*found)(const char *name,
				    const struct storm_addr *addr));

#endif
