/*
 * step_domain.h - a domain of libstorm over nodes that Slurm names.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_DOMAIN_H
#define STORM_STEP_DOMAIN_H

#include "src/common/slurm_protocol_defs.h"
#include "src/slurm/cred.h"

#include "src/libstorm/storm.h"
#include "src/storm_common/storm_conf.h"
#include "step_addrs.h"

struct step_domain {
	storm_domain_t *d;
	char *nodelist; /* as given */
	char **names;	/* by node number; count of them */
	struct storm_node *nodes;
	uint32_t count;
	uint32_t radix;	     /* of the tree that they form */
	bool opening;	     /* begun, not awaited */
	uint16_t own_port;   /* of d; 0: not known */
	bool unsigned_addrs; /* slurmctld gave some, and signed none of them */
};

/* What a domain needs besides its nodes. */
struct step_domain_conf {
	struct storm_settings set;
	slurm_step_id_t step_id;
	sbcast_cred_t *sbcast_cred; /* NULL: no file can be sent */
	/* What came with the step.  NULL: there is none, but there is a job. */
	const struct step_addrs *addrs;
	void (*on_report)(void *arg, const struct storm_report *r);
	void (*on_fault)(void *arg, const struct storm_fault *f);
	void *arg;
};

/* Send libstorm's messages to Slurm's log.  Call once, before anything else.
 * A function of this header that returns the reason of a failure keeps what
 * libstorm logs of it in the same thread: one line for one cause. */
void step_domain_log(void);

/* Create the domain, unopened.  NULL and *why (xfree) on failure; *why names
 * the cause, such as the interface of storm.conf that does not exist. */
struct step_domain *step_domain_create(const char *nodelist,
				       const struct step_domain_conf *sdc,
				       char **why);

/* Begin to open it; what is sent meanwhile goes when it is open.  await: wait
 * until all nodes have joined.  open: both.  NULL, or the reason of the failure
 * (xfree); then only step_domain_destroy() may follow. */
char *step_domain_begin(struct step_domain *sd);
char *step_domain_await(struct step_domain *sd);
char *step_domain_open(struct step_domain *sd);

/* Its nodes' names, without addresses; their ports.  NULL, or the reason (xfree). */
char *step_domain_take_names(struct step_domain *sd, const char *nodelist,
			     uint16_t port);
void step_domain_drop_names(struct step_domain *sd);

/* Close and free it.  NULL is allowed. */
void step_domain_destroy(struct step_domain *sd);

/* True if it has exactly the nodes of the list, in any order. */
bool step_domain_covers(const struct step_domain *sd, const char *nodelist);

/* A node's number by its name; STORM_NO_NODE: not in the domain. */
uint32_t step_domain_find(const struct step_domain *sd, const char *name);

/* The node above it in the tree; STORM_NO_NODE: this host. */
uint32_t step_domain_above(const struct step_domain *sd, uint32_t node);

/* Keep what the outcome of a transfer says of paths, for later commands. */
void step_domain_keep(const struct step_domain *sd,
		      const struct storm_outcome *out);

/* Why Slurm serves a command of these nodes: a path that did not work some minutes
 * ago, and when that was (xfree).  NULL: none is known. */
char *step_domain_known(const struct step_domain *sd);
/* The same of nodes in Slurm's list, without a domain.  NULL, too, if the paths are
 * to be tried now. */
char *step_domain_goes_round(const char *nodelist,
			     const struct storm_settings *set);

/* These nodes, "n[1-4]", or how many if that is long (xfree). */
char *step_domain_names(const struct step_domain *sd,
			const struct storm_idset *nodes);

/* One fault, "node n3: no answer in time" (xfree). */
char *step_domain_fault(const struct step_domain *sd,
			const struct storm_fault *f);

/* All faults of an outcome, nodes with the same fault together:
 * "nodes n[1-2]: ...; node n7: ..." (xfree).  NULL: there are none. */
char *step_domain_faults(const struct step_domain *sd,
			 const struct storm_outcome *out);

/* If every fault is why: the ranges of its nodes, "n[1-4]" (xfree).
 * Otherwise NULL. */
char *step_domain_all_failed(const struct step_domain *sd,
			     const struct storm_outcome *out,
			     enum storm_err why);

#endif
