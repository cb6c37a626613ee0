/*
 * step_domain.h - a domain of libstorm over nodes that Slurm names.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_DOMAIN_H
#define STORM_STEP_DOMAIN_H

#include "src/common/slurm_protocol_defs.h"
#include "src/common/slurm_cred.h"

#include "src/storm_common/storm_conf.h"
#include "src/libstorm/storm.h"

struct step_domain {
	storm_domain_t *d;
	char *nodelist;		/* as it was given */
	char **names;		/* by node number; count of them */
	struct storm_node *nodes;
	uint32_t count;
};

/* What a domain needs besides its nodes. */
struct step_domain_conf {
	struct storm_settings set;
	slurm_step_id_t step_id;
	sbcast_cred_t *sbcast_cred;	/* NULL: no file can be sent */
	void (*on_report)(void *arg, const struct storm_report *r);
	void (*on_fault)(void *arg, const struct storm_fault *f);
	void *arg;
};

/* Send libstorm's messages to Slurm's log.  Once, before anything else. */
void step_domain_log(void);

/* Create the domain, unopened.  NULL and *why (xfree) on failure. */
struct step_domain *step_domain_create(const char *nodelist,
				       const struct step_domain_conf *sdc,
				       char **why);

/* Open it and wait for all nodes.  NULL if all are there; otherwise why not,
 * to be freed with xfree(), and the domain is good for nothing else. */
char *step_domain_open(struct step_domain *sd);

/* CLOSE; NULL is fine. */
void step_domain_destroy(struct step_domain *sd);

/* True if it has exactly the nodes of the list, in any order. */
bool step_domain_covers(const struct step_domain *sd, const char *nodelist);

/* The number of a node by its name; STORM_NO_NODE: not in it. */
uint32_t step_domain_find(const struct step_domain *sd, const char *name);

/* "node n3: no answer in time"; xfree(). */
char *step_domain_fault(const struct step_domain *sd,
			const struct storm_fault *f);

/* All faults of an outcome, nodes of the same fault together:
 * "nodes n[1-2]: ...; node n7: ..."; xfree(). */
char *step_domain_faults(const struct step_domain *sd,
			 const struct storm_outcome *out);

#endif
