/*
 * step_addrs.h - the addresses of nodes that slurmctld gives with a job.  It
 * alone knows where cloud and dynamic nodes are.
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
	/* What slurmctld has signed, for agents (step_protocol.h); or NULL. */
	char *proof;
	uint32_t proof_len;
};

/* Set *out to the addresses that came with a step.  Often there are none, and
 * count is 0. */
void step_addrs_of_step(struct step_addrs *out,
			const job_step_create_response_msg_t *resp);
/* Set *out to the addresses of a job's nodes.  Asks slurmctld if it must. */
void step_addrs_of_nodes(struct step_addrs *out, const char *nodelist);
void step_addrs_add(struct step_addrs *out, const char *name,
		    const struct storm_addr *addr);
void step_addrs_clear(struct step_addrs *a);

/* Set the address of each node that a has, unless the node has a BcastAddr. */
void step_addrs_fill(const struct step_addrs *a, struct storm_node *nodes,
		     uint32_t count, uint16_t port);

#endif
