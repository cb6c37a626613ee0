/*
 * agent_session.h - the agent's state of a session.  A session is this node's
 * membership in a domain, which srun or sbcast_storm opens for one step, or the
 * strober for the cluster.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_SESSION_H
#define STORM_AGENT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "src/storm_agent/files/file_child.h"

struct agent;
struct agent_child;
struct agent_file;
struct agent_launch;
struct storm_open_info;

/* The user as whom files may be written, from a valid sbcast credential. */
struct agent_creds {
	struct file_user user; /* gids: xmalloc()ed, owned */
	uint32_t job_id, step_id;
};
void agent_creds_destroy(struct agent_creds *c); /* NULL is fine */

/* The step that an OPEN names.  Only the uid is authentic; the owner chooses
 * the rest. */
struct agent_step {
	uint32_t uid, job_id, step_id, het;
};

struct agent_session {
	struct agent_session *next;
	struct agent *a;
	uint64_t id;
	uint64_t cluster; /* its number; 0: a step's */
	uint32_t self;	  /* this node's number in the domain */
	struct agent_step step;
	/* agent_file.c */
	struct agent_creds *creds; /* NULL: it may not send files */
	struct agent_child *child; /* the process for its files */
	struct agent_file *files;
	/* agent_launch.c */
	bool launched;	/* got an event LAUNCH */
	bool stepd;	/* the step's slurmstepd has come: it is a true one */
	bool told;	/* got an event LAUNCHED */
	uint32_t order; /* number of the last event SIGNAL */
	struct agent_launch *launches;
};

/* Add a session to the agent's list.  It owns creds, which may be NULL. */
struct agent_session *agent_session_create(struct agent *a, uint64_t id,
					   const struct storm_open_info *info,
					   struct agent_creds *creds);
/* Free a session, after the session_close() of all parts. */
void agent_session_destroy(struct agent_session *s);

/* The session that launched this step, for the same user; or NULL. */
struct agent_session *agent_session_of_step(struct agent *a,
					    const struct agent_step *step);

#endif
