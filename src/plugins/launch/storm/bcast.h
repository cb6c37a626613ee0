/*
 * bcast.h - Slurm's file broadcast with its data sent by libstorm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_BCAST_H
#define STORM_BCAST_H

#include "src/slurm/compat.h"
#include "src/slurm/file_bcast.h"

#include "step_domain.h"
#include "timeline.h"

/* How a warning ends if Slurm launches the step. */
#define LAUNCH_OTHERWISE "falling back to Slurm's standard launch"

struct step_cast {
	/* The caller sets these. */
	const struct storm_conf *conf;
	struct step_domain_conf sdc; /* without sbcast_cred, with odd; a job_id
					   of NO_VAL: the credential's */
	const char *otherwise;	     /* LAUNCH_OTHERWISE or the like */
	struct storm_record *rec;
	/* Another thread or a signal handler sets it to cancel; may be NULL. */
	const bool *abort;
	bool bar; /* show a progress bar (progress.h) */
	/* A node that fails is named, and the others have the file, as with Slurm's
	 * sbcast.  A step needs it on all of its nodes, or on none. */
	bool each;
	/* An open domain over the credential's nodes; NULL: it is made.  The
	 * caller destroys it, also after a failure. */
	struct step_domain *domain;
	/* The result: why Slurm's own broadcast was used (xfree); NULL: it was
	 * not. */
	char *fallback;
	bool not_served; /* as it asks for what STORM does not serve */
};

/*
 * Broadcast a file, with the parameters and the result of Slurm's bcast_file();
 * STORM sends the data.  If STORM cannot start, Fallback of storm.conf decides
 * whether Slurm sends the file.  One broadcast at a time: other callers wait.
 */
int storm_bcast(struct step_cast *cast, struct bcast_parameters *params);

/* Warn once in a command, and log further warnings at -v, because the
 * components of a heterogeneous step fail for the same reason.  Any thread. */
void storm_warn_once(const char *why, const char *otherwise);

/*
 * STORM cannot serve.  Log why, as a warning that ends in otherwise, or as an
 * error if the policy is FALLBACK_NEVER.  *kept takes over why.  True: continue
 * without STORM; false: fail.
 */
bool storm_fall_back(enum storm_fallback policy, const char *otherwise,
		     char *why, char **kept);

/* Add a node's answer, rc, to a list as slurm_send_recv_msgs() returns it.
 * list NULL: make one.  Returns the list; the caller frees it. */
list_t *storm_answer(list_t *list, const char *node, int rc);
/* As slurmds would answer, those of the nodes that failed; of one if none is known
 * to have. */
list_t *storm_answers(const struct step_domain *sd,
		      const struct storm_outcome *out);

/* slurm_send_recv_msgs(), but to no node that has failed. */
list_t *storm_send_living(const struct step_odd *odd, const char *nodelist,
			  slurm_msg_t *msg, int timeout);

/* slurm_file_bcast.c: Slurm's file_bcast.c, which sends by
 * storm_bcast_send().  Without a storm_bcast() under way that is Slurm's own
 * broadcast.  Pointers stay Slurm's. */
int stock_bcast_file(struct bcast_parameters *params);
int stock_bcast_decompress_data(file_bcast_msg_t *req);
int stock_bcast_fd(void); /* the source; it stays open */
uint64_t stock_bcast_size(void);
/* Log that the source cannot be read: an errno, or 0 if it became shorter. */
void stock_bcast_source_error(int sys);
/* Was that logged of the block that is to be sent? */
bool stock_bcast_source_failed(void);
sbcast_cred_t *stock_bcast_cred(void);
uint32_t stock_bcast_job(void);
list_t *storm_bcast_send(const char *nodelist, slurm_msg_t *msg, int timeout);
/* Does STORM send the file that Slurm's code reads now? */
bool storm_bcast_sends(void);
/* Has bcast.c logged already which nodes failed?  Then Slurm's line for each of
 * them is logged at -v only. */
bool storm_bcast_told(void);

#endif
