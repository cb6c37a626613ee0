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
#include "src/storm_common/fallback_word.h"
#include "src/storm_common/storm_conf.h"
#include "step_addrs.h"
#include "step_odd.h"

struct step_domain {
	storm_domain_t *d;
	char *nodelist; /* as given */
	char **names;	/* by node number; count of them */
	struct storm_node *nodes;
	uint32_t count;
	uint32_t radix;	      /* of the tree that they form */
	bool opening;	      /* begun, not awaited */
	bool health;	      /* its nodes are asked whether they are well */
	uint16_t own_port;    /* of d; 0: not known */
	bool unsigned_addrs;  /* slurmctld gave addresses, but signed none */
	struct step_odd *odd; /* not owned; NULL: it has all nodes */
};

/* What a domain needs besides its nodes. */
struct step_domain_conf {
	struct storm_settings set;
	slurm_step_id_t step_id;
	sbcast_cred_t *sbcast_cred; /* NULL: no file can be sent */
	/* The addresses that came with the step.  NULL: there is no step, but
	 * a job. */
	const struct step_addrs *addrs;
	/* Nodes that are left out; more may be added.  It lives as long as the
	 * domain.  NULL: the domain has all nodes, or there is none. */
	struct step_odd *odd;
	bool health; /* warn of nodes that are not well */
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

/* begin: begin to open the domain; operations that are begun meanwhile are sent
 * when it is open.  await: wait until all nodes have joined.  open: both.
 * NULL, or the reason of the failure (xfree); then only step_domain_destroy()
 * may follow.  If `again` of the odd nodes is set then, another domain without
 * them is to be made, and the reason was logged. */
char *step_domain_begin(struct step_domain *sd);
char *step_domain_await(struct step_domain *sd);
char *step_domain_open(struct step_domain *sd);

/* Set the names of the domain's nodes, and their port, but no addresses.  NULL,
 * or the reason of the failure (xfree). */
char *step_domain_take_names(struct step_domain *sd, const char *nodelist,
			     uint16_t port);
void step_domain_drop_names(struct step_domain *sd);

/* Close and free it.  NULL is allowed. */
void step_domain_destroy(struct step_domain *sd);

/* Has the domain exactly the nodes of the list but for odd ones, in any order? */
bool step_domain_covers(const struct step_domain *sd, const char *nodelist);

/* A node's number by its name; STORM_NO_NODE: not in the domain. */
uint32_t step_domain_find(const struct step_domain *sd, const char *name);

/* The number of the node's parent in the tree; STORM_NO_NODE: this host. */
uint32_t step_domain_above(const struct step_domain *sd, uint32_t node);

/* Remember for later commands which paths failed by the outcome of a
 * transfer. */
void step_domain_keep(const struct step_domain *sd,
		      const struct storm_outcome *out);

/* Why Slurm serves a command for these nodes: text that names a path that
 * failed some minutes ago, and when (xfree).  NULL: none is known. */
char *step_domain_known(const struct step_domain *sd);
/* As step_domain_known(); but NULL if the nodes of these paths are few: they are
 * odd from now on, and have left sd. */
char *step_domain_leave_known(struct step_domain *sd);
/* As step_domain_known(), for nodes in Slurm's form, without a domain; told is what a
 * node is to hear of it.  NULL also if it is time to try the paths again, or the nodes
 * would be odd. */
char *step_domain_goes_round(const char *nodelist, const struct storm_conf *c,
			     struct fallback_told *told);

/* The names of these nodes, "n[1-4]", or how many there are if that is long
 * (xfree). */
char *step_domain_names(const struct step_domain *sd,
			const struct storm_idset *nodes);

/* The text of one fault, "node n3: no answer in time" (xfree). */
char *step_domain_fault(const struct step_domain *sd,
			const struct storm_fault *f);

/* The text of all faults of an outcome, with the nodes of the same fault
 * together: "nodes n[1-2]: no answer; node n7: no memory" (xfree).  NULL: there
 * are none. */
char *step_domain_faults(const struct step_domain *sd,
			 const struct storm_outcome *out);

/* The names of the nodes, "n[1-4]" (xfree), if every fault of the outcome is
 * `why`; else NULL. */
char *step_domain_all_failed(const struct step_domain *sd,
			     const struct storm_outcome *out,
			     enum storm_err why);

#endif
