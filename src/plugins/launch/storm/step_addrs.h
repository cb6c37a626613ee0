/*
 * step_addrs.h - where nodes are, as slurmctld says it with a job.  It alone
 * knows where cloud and dynamic nodes are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_ADDRS_H
#define STORM_STEP_ADDRS_H

#include "src/common/slurm_protocol_defs.h"

#include "src/libstorm/storm.h"

struct step_addrs {
	char **name;
	struct storm_addr *addr; /* of each; the port is 0 */
	uint32_t count;
	/* What slurmctld has signed, for agents: step_protocol.h.  NULL: nothing */
	char *proof;
	uint32_t proof_len;
};

/* What came with a step.  Often that is nothing, and count is 0. */
void step_addrs_of_step(struct step_addrs *out,
			const job_step_create_response_msg_t *resp);
/* The same for nodes of a job; asks slurmctld if it must. */
void step_addrs_of_nodes(struct step_addrs *out, const char *nodelist);
void step_addrs_add(struct step_addrs *out, const char *name,
		    const struct storm_addr *addr);
void step_addrs_clear(struct step_addrs *a);

/* Set the addresses of those nodes that it has and that have no BcastAddr. */
void step_addrs_fill(const struct step_addrs *a, struct storm_node *nodes,
		     uint32_t count, uint16_t port);

#endif
